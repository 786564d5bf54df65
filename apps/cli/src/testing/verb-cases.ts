import { bytes, nothing, stream, type Answer } from './fake-server.ts';
import type { RunSetting } from './run-command.ts';
import { LIVE_CASES } from './live-cases.ts';
import { busy, checkpoint, environment, event, session, summary } from './sample-documents.ts';

/** One command line and the server it meets. */
export interface VerbCase {
  name: string;
  argv: string[];
  routes: Record<string, Answer | Answer[]>;
  setting?: RunSetting;
}

const S = '/api/sessions/csv-fix';
const receipt = { message_id: 'msg-00000002', status: 'queued', mode: 'auto', becomes: 'queue' };
const receiptBack = { ...receipt, status: 'taken_back', becomes: null };
const token = {
  id: 'tok-0a0b0c0d',
  owner: 'sean',
  name: 'laptop',
  scope: 'write',
  created_at: '2026-10-01T08:00:00Z',
  expires_at: null,
  revoked_at: null,
};
const webhook = {
  name: 'pager',
  url: 'https://hooks.example.com/hangar',
  events: ['attention'],
  state: 'active',
  disabled_at: null,
  created_at: '2026-10-12T08:00:00Z',
};
const delivery = {
  id: 'dlv-0a0b0c0d11112222',
  type: 'card.raised',
  state: 'waiting',
  attempts: 2,
  last_status: 500,
  last_error: 'answered 500',
  created_at: '2026-10-12T08:20:00Z',
  next_at: '2026-10-12T08:35:00Z',
  ended_at: null,
};
const events = [
  event(1, 'SessionCreated', { name: 'csv-fix' }),
  event(2, 'StartPhaseChanged', { phase: 'cloning', text: 'cloning the repository' }),
];
const changes = {
  source: 'checkpoint',
  taken_at: '2026-10-12T08:00:50Z',
  base: 'main',
  files: [
    {
      path: 'src/csv.ts',
      status: 'modified',
      area: 'committed',
      binary: false,
      diff: '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n',
    },
    { path: 'logo.png', status: 'added', area: 'untracked', binary: true, diff: null },
  ],
};
const limits = {
  environment: 'web',
  harness: null,
  limits: [
    {
      name: 'idle_minutes',
      value: 30,
      unit: 'minutes',
      default: 30,
      source: 'built_in',
      changed_by: 'idle_minutes of the session',
      does: 'suspends a session after so long without activity',
    },
    {
      name: 'turn_minutes',
      value: null,
      unit: 'minutes',
      default: 60,
      source: 'environment',
      changed_by: null,
      does: 'stops a turn',
    },
  ],
};

/** Every verb at least once, with all its flags. */
export const VERB_CASES: VerbCase[] = [
  {
    name: 'session-new',
    argv: [
      'session',
      'new',
      'csv-fix',
      '--env',
      'web',
      '--harness',
      'codex',
      '--repo',
      '/srv/web',
      '--base',
      'main',
      '--branch',
      'fix',
      '--ask',
      '--title',
      'CSV',
      '--model',
      'm',
      '--idle',
      '5',
      'fix',
      'it',
    ],
    routes: {
      'POST /api/sessions': session({ state: 'STARTING', state_reason: 'making a sandbox' }),
    },
  },
  {
    name: 'session-list',
    argv: ['session', 'list', '--state', 'IDLE', '--env', 'web', '-q', 'csv'],
    routes: {
      'GET /api/sessions': {
        items: [
          summary(),
          summary({
            id: 'ses-00000002',
            name: 'docs',
            state: 'INTERRUPTED',
            state_reason: 'turn 3 was interrupted',
            attention_count: 1,
            last_summary: '',
          }),
        ],
        next_cursor: null,
      },
    },
  },
  { name: 'session-get', argv: ['session', 'get', 'csv-fix'], routes: { [`GET ${S}`]: busy } },
  {
    name: 'session-open',
    argv: ['session', 'open', 'csv-fix'],
    routes: { [`POST ${S}/open`]: session({ state: 'RESUMING', state_reason: 'opened' }) },
  },
  {
    name: 'session-send',
    argv: ['session', 'send', 'csv-fix', '--mode', 'interrupt', 'now a test'],
    routes: { [`POST ${S}/send`]: receipt },
  },
  {
    name: 'session-take-back',
    argv: ['session', 'take-back', 'csv-fix', 'msg-00000002'],
    routes: { [`DELETE ${S}/queue/msg-00000002`]: receiptBack },
  },
  {
    name: 'session-interrupt',
    argv: ['session', 'interrupt', 'csv-fix'],
    routes: { [`POST ${S}/interrupt`]: busy },
  },
  {
    name: 'session-retry',
    argv: ['session', 'retry', 'csv-fix'],
    routes: { [`POST ${S}/retry`]: busy },
  },
  {
    name: 'session-continue',
    argv: ['session', 'continue', 'csv-fix'],
    routes: { [`POST ${S}/continue`]: session() },
  },
  {
    name: 'session-keep',
    argv: ['session', 'keep', 'csv-fix', '--idle', '0'],
    routes: { [`POST ${S}/keep`]: session({ idle_minutes: 0 }) },
  },
  {
    name: 'session-suspend',
    argv: ['session', 'suspend', 'csv-fix', '--force', '--yes'],
    routes: {
      [`POST ${S}/suspend`]: session({ state: 'SUSPENDING', state_reason: 'suspended on demand' }),
    },
  },
  {
    name: 'session-rename',
    argv: ['session', 'rename', 'csv-fix', 'csv', '--title', 'T'],
    routes: { [`POST ${S}/rename`]: session({ name: 'csv', title: 'T' }) },
  },
  {
    name: 'session-exec',
    argv: ['session', 'exec', 'csv-fix', '--cwd', '/tmp', '--timeout', '5', '--', 'ls', '-la'],
    routes: {
      [`POST ${S}/exec`]: {
        exit_code: 0,
        stdout: 'a\nb\n',
        stdout_truncated: false,
        stderr: 'w\n',
        stderr_truncated: false,
      },
    },
  },
  {
    name: 'session-changes',
    argv: ['session', 'changes', 'csv-fix'],
    routes: { [`GET ${S}/changes`]: changes },
  },
  {
    name: 'session-changes-diff',
    argv: ['session', 'changes', 'csv-fix', '--diff', '--checkpoint', 'ckp-1a2b3c4d-1'],
    routes: { [`GET ${S}/changes`]: changes },
  },
  {
    name: 'session-events',
    argv: ['session', 'events', 'csv-fix'],
    routes: {
      [`GET ${S}`]: session({ version: 2 }),
      'GET /api/sessions/ses-1a2b3c4d/events': stream(events),
    },
  },
  {
    name: 'session-archive',
    argv: ['session', 'archive', 'csv-fix', '--yes'],
    routes: {
      [`POST ${S}/archive`]: session({ state: 'ARCHIVED', state_reason: '', sandbox_id: null }),
    },
  },
  {
    name: 'session-delete',
    argv: ['session', 'delete', 'csv-fix', '--yes', '--force'],
    routes: { [`DELETE ${S}`]: nothing },
  },
  {
    name: 'checkpoint-list',
    argv: ['checkpoint', 'list', 'csv-fix'],
    routes: {
      [`GET ${S}/checkpoints`]: {
        items: [
          checkpoint,
          {
            ...checkpoint,
            id: 'ckp-1a2b3c4d-2',
            reason: 'manual',
            complete: false,
            skipped: [{ path: 'big.bin', reason: 'larger than 20 MB' }],
          },
        ],
      },
    },
  },
  {
    name: 'checkpoint-take',
    argv: ['checkpoint', 'take', 'csv-fix'],
    routes: { [`POST ${S}/checkpoints`]: session() },
  },
  {
    name: 'env-apply',
    argv: ['env', 'apply', '-f', '-'],
    setting: { stdin: 'name: web # mine\nrepo: /srv/web\n' },
    routes: { 'PUT /api/environments/web': environment },
  },
  {
    name: 'env-list',
    argv: ['env', 'list'],
    routes: { 'GET /api/environments': { items: [environment], next_cursor: null } },
  },
  {
    name: 'env-get',
    argv: ['env', 'get', 'web'],
    routes: { 'GET /api/environments/web': environment },
  },
  {
    name: 'env-delete',
    argv: ['env', 'delete', 'web', '-y'],
    routes: { 'DELETE /api/environments/web': nothing },
  },
  {
    name: 'secret-set',
    argv: ['secret', 'set', 'NPM_TOKEN'],
    setting: { stdin: 'top secret\n' },
    routes: {
      'POST /api/secrets': { name: 'NPM_TOKEN', version: 2, updated_at: '2026-10-12T08:30:00Z' },
    },
  },
  {
    name: 'secret-list',
    argv: ['secret', 'list'],
    routes: {
      'GET /api/secrets': {
        items: [{ name: 'NPM_TOKEN', version: 2, updated_at: '2026-10-11T08:30:00Z' }],
      },
    },
  },
  {
    name: 'secret-delete',
    argv: ['secret', 'delete', 'NPM_TOKEN', '--yes'],
    routes: { 'DELETE /api/secrets/NPM_TOKEN': nothing },
  },
  {
    name: 'token-create',
    argv: [
      'token',
      'create',
      'laptop',
      '--scope',
      'write',
      '--owner',
      'sean',
      '--expires',
      '2027-01-31T00:00:00Z',
    ],
    routes: { 'POST /api/tokens': { ...token, token: 'hgr_value' } },
  },
  {
    name: 'token-list',
    argv: ['token', 'list'],
    routes: {
      'GET /api/tokens': {
        items: [
          token,
          { ...token, id: 'tok-00000002', expires_at: '2026-10-13T08:30:00Z' },
          { ...token, id: 'tok-00000003', revoked_at: '2026-10-02T08:00:00Z' },
        ],
      },
    },
  },
  {
    name: 'token-revoke',
    argv: ['token', 'revoke', 'tok-0a0b0c0d', '--yes'],
    routes: { 'DELETE /api/tokens/tok-0a0b0c0d': nothing },
  },
  {
    name: 'webhook-create',
    argv: ['webhook', 'create', 'pager', webhook.url, '--events', 'attention,turn.finished'],
    routes: { 'POST /api/webhooks': { ...webhook, secret: 'whsec_value' } },
  },
  {
    name: 'webhook-list',
    argv: ['webhook', 'list'],
    routes: {
      'GET /api/webhooks': {
        items: [
          webhook,
          { ...webhook, name: 'old', state: 'disabled', disabled_at: '2026-10-12T08:10:00Z' },
        ],
      },
    },
  },
  {
    name: 'webhook-get',
    argv: ['webhook', 'get', 'pager'],
    routes: {
      'GET /api/webhooks/pager': {
        ...webhook,
        deliveries: [
          delivery,
          {
            ...delivery,
            id: 'dlv-0000000211112222',
            state: 'delivered',
            last_status: 204,
            last_error: null,
            next_at: null,
            ended_at: '2026-10-12T08:25:00Z',
          },
        ],
      },
    },
  },
  {
    name: 'webhook-delete',
    argv: ['webhook', 'delete', 'pager', '--yes'],
    routes: { 'DELETE /api/webhooks/pager': nothing },
  },
  {
    name: 'webhook-test',
    argv: ['webhook', 'test', 'pager'],
    routes: { 'POST /api/webhooks/pager/test': { ...delivery, type: 'webhook.test', attempts: 0 } },
  },
  {
    name: 'webhook-redeliver',
    argv: ['webhook', 'redeliver', 'pager', delivery.id],
    routes: { 'POST /api/webhooks/pager/redeliver': { ...delivery, attempts: 0 } },
  },
  {
    name: 'audit-list',
    argv: ['audit', 'list', '--session', 'csv-fix', '--type', 'SessionCreated', '--limit', '2'],
    routes: { 'GET /api/audit': { items: events, next_cursor: 'more' } },
  },
  {
    name: 'audit-verify',
    argv: ['audit', 'verify'],
    routes: {
      'GET /api/audit/verify': {
        ok: false,
        problems: [{ stream: 'session-ses-1a2b3c4d', version: 3, problem: 'changed' }],
      },
    },
  },
  {
    name: 'audit-verify-ok',
    argv: ['audit', 'verify', '--session', 'csv-fix'],
    routes: { 'GET /api/audit/verify': { ok: true, problems: [] } },
  },
  {
    name: 'audit-export',
    argv: ['audit', 'export', '--since', '2026-10-12T00:00:00Z'],
    routes: { 'GET /api/audit': bytes('{"id":"1"}\n{"id":"2"}\n') },
  },
  {
    name: 'audit-replay',
    argv: ['audit', 'replay', 'csv-fix', '--version', '3'],
    routes: { 'GET /api/audit/replay': { id: 'ses-1a2b3c4d', version: 3 } },
  },
  {
    name: 'harness-list',
    argv: ['harness', 'list'],
    routes: {
      'GET /api/harnesses': {
        items: [
          {
            name: 'claude-code',
            version: '2.1.0',
            verified: true,
            capabilities: { choosesId: true, steer: true, withdraw: false, someNewThing: true },
          },
          {
            name: 'pi',
            version: '1.1.0',
            verified: false,
            capabilities: { choosesId: true, steer: false },
          },
        ],
      },
    },
  },
  ...LIVE_CASES,
  { name: 'limits', argv: ['limits', '--env', 'web'], routes: { 'GET /api/limits': limits } },
  {
    name: 'version',
    argv: ['version'],
    routes: { 'GET /api/openapi.json': { openapi: '3.1.0', info: { version: '1' } } },
  },
];
