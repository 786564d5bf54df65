import { activity, busy, decision, question, questions, session } from './sample-documents.ts';
import type { VerbCase } from './verb-cases.ts';

const S = '/api/sessions/csv-fix';

const shell = {
  id: 'trm-1a2b3c4d',
  kind: 'shell',
  state: 'running',
  exit_code: null,
  created_at: '2026-10-12T08:20:00.000Z',
  cols: 120,
  rows: 40,
  viewers: 1,
  printed: 4242,
};
const terminals = [
  { ...shell, id: 'trm-0000000a', state: 'ended', exit_code: 130, viewers: 0 },
  shell,
  { ...shell, id: 'trm-1a2b3c4d-1', kind: 'agent', state: 'starting', viewers: 0, printed: 0 },
];

/** What people do while an agent works. */
export const LIVE_CASES: VerbCase[] = [
  {
    name: 'session-terminals',
    argv: ['session', 'terminals', 'csv-fix'],
    routes: { [`GET ${S}/terminals`]: { items: [...terminals] } },
  },
  {
    name: 'session-terminals-close',
    argv: ['session', 'terminals', 'csv-fix', '--close', 'trm-1a2b3c4d'],
    routes: {
      [`DELETE ${S}/terminals/trm-1a2b3c4d`]: (response) => void response.writeHead(204).end(),
      [`GET ${S}/terminals`]: { items: [] },
    },
  },
  {
    name: 'session-get-talk',
    argv: ['session', 'get', 'csv-fix'],
    routes: {
      [`GET ${S}`]: session({
        talk: { terminal_id: 'trm-1a2b3c4d-1', since: '2026-10-12T08:20:00.000Z' },
      }),
    },
  },
  {
    name: 'session-take-back-asked',
    argv: ['session', 'take-back', 'csv-fix', 'msg-00000002'],
    routes: {
      [`DELETE ${S}/queue/msg-00000002`]: {
        message_id: 'msg-00000002',
        status: 'queued',
        mode: 'auto',
        becomes: 'steer',
      },
    },
  },
  {
    name: 'session-queue',
    argv: ['session', 'queue', 'csv-fix'],
    routes: {
      [`GET ${S}`]: session({
        queue: [
          ...busy.queue,
          { ...busy.queue[0]!, message_id: 'msg-00000005', is_steering: false },
        ],
      }),
    },
  },
  {
    name: 'session-answer',
    argv: ['session', 'answer', 'csv-fix', 'semicolon, please'],
    routes: {
      [`GET ${S}`]: session({ state: 'ACTIVE', attention: [question] }),
      'POST /api/sessions/ses-1a2b3c4d/cards/card-000000a1/answer': busy,
    },
  },
  {
    name: 'session-answer-each',
    argv: [
      'session',
      'answer',
      'csv-fix',
      'card-000000a2',
      '--answer',
      'columns=id, date',
      '--answer',
      'name=a=b',
    ],
    routes: {
      [`GET ${S}`]: session({ state: 'ACTIVE', attention: [question, questions] }),
      'POST /api/sessions/ses-1a2b3c4d/cards/card-000000a2/answer': busy,
    },
  },
  {
    name: 'session-answer-nothing',
    argv: ['session', 'answer', 'csv-fix'],
    setting: { stdin: '' },
    routes: {
      [`GET ${S}`]: session({ state: 'ACTIVE', attention: [question, questions, decision] }),
    },
  },
  {
    name: 'session-decide',
    argv: ['session', 'decide', 'csv-fix', 'deny', '--reason', 'not now'],
    routes: {
      [`GET ${S}`]: session({ state: 'ACTIVE', attention: [question, decision] }),
      'POST /api/sessions/ses-1a2b3c4d/cards/card-000000b1/answer': busy,
    },
  },
  {
    name: 'session-activity',
    argv: ['session', 'activity', 'csv-fix', '--turn', '1'],
    routes: {
      [`GET ${S}`]: session(),
      'GET /api/sessions/ses-1a2b3c4d/activity': [
        { items: activity.slice(0, 3), next_cursor: '1.0.3' },
        { items: activity.slice(3), next_cursor: null },
      ],
    },
  },
  {
    name: 'session-decisions',
    argv: ['session', 'decisions', 'csv-fix', '--turn', '2'],
    routes: {
      [`GET ${S}/decisions`]: {
        items: [
          {
            cursor: 'a',
            turn: 2,
            call_id: 'c1',
            tool: 'Bash',
            input: '{"command":"npm test"}',
            verdict: 'allow',
            reason: 'rule 1: allow Bash npm *',
            decided_by: 'rule 1',
            decided_at: '2026-10-12T08:20:00Z',
          },
          {
            cursor: 'b',
            turn: 2,
            call_id: 'c2',
            tool: 'Bash',
            input: '{"command":"git push"}',
            verdict: 'deny',
            reason: 'not now',
            decided_by: 'person',
            decided_at: '2026-10-12T08:21:00Z',
          },
        ],
        next_cursor: null,
      },
    },
  },
  {
    name: 'session-permissions',
    argv: [
      'session',
      'permissions',
      'csv-fix',
      '--deny',
      'Bash git push*',
      '--allow',
      'Bash  npm test',
      '--ask',
      '*',
      '--deny',
      'Read',
    ],
    routes: {
      [`GET ${S}`]: busy,
      'PUT /api/sessions/ses-1a2b3c4d/permissions': session({
        permissions: {
          mode: 'ask',
          rules: [
            { tool: 'Bash', pattern: 'git push*', verdict: 'deny' },
            { tool: 'Bash', pattern: 'npm test', verdict: 'allow' },
          ],
        },
      }),
    },
  },
  {
    name: 'session-harness',
    argv: ['session', 'harness', 'csv-fix', '--harness', 'codex'],
    routes: { [`PUT ${S}/harness`]: session({ harness: 'codex' }) },
  },
  {
    name: 'session-permissions-shown',
    argv: ['session', 'permissions', 'csv-fix'],
    routes: { [`GET ${S}`]: session() },
  },
];
