import type {
  ActivityItem,
  CardDocument,
  EnvironmentDocument,
  EventDocument,
  EventMap,
  EventName,
  SessionDocument,
  SessionSummary,
  TurnDocument,
} from '@hangar/contracts';

export const SESSION_ID = 'ses-1a2b3c4d';

export const turn = (over: Partial<TurnDocument> = {}): TurnDocument => ({
  number: 1,
  run_id: 'run-1a2b3c4d-1',
  message_id: 'msg-00000001',
  message: 'fix the CSV export\nand keep the header',
  requested_at: '2026-10-12T08:00:00Z',
  started_at: '2026-10-12T08:00:05Z',
  finished_at: '2026-10-12T08:00:46Z',
  outcome: 'succeeded',
  exit_code: 0,
  summary: 'The export quotes fields now.\nAll 12 tests pass.',
  usage: { input_tokens: 1000, output_tokens: 234, cached_tokens: 0, cost_usd: 0.021 },
  error: null,
  conversation: 'native',
  steered: [],
  checkpoint_id: 'ckp-1a2b3c4d-1',
  ...over,
});

const BASE = {
  id: SESSION_ID,
  name: 'csv-fix',
  title: 'CSV export',
  owner: 'sean',
  environment: 'web',
  harness: 'claude-code',
  model: null,
  repo: 'https://example.test/acme/web.git',
  base_branch: 'main',
  branch: 'hangar/session/csv-fix',
  cwd: '/workspace/web',
  harness_session: '0c6b1f1e-0000-4000-8000-000000000000',
  sandbox_id: 'sbx-1a2b3c4d-1',
  state: 'IDLE',
  state_reason: 'turn 1 succeeded',
  start_phase: null,
  conversation: 'native',
  idle_minutes: 30,
  forked_from: null,
  talk: null,
  created_at: '2026-10-12T07:59:00Z',
  last_active_at: '2026-10-12T08:10:00Z',
  updated_at: '2026-10-12T08:10:00Z',
  version: 10,
} as const;

export const checkpoint = {
  id: 'ckp-1a2b3c4d-1',
  reason: 'turn',
  turn: 1,
  taken_at: '2026-10-12T08:00:50Z',
  complete: true,
  head: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  base: '0000000000000000000000000000000000000001',
  bytes: 123_456,
  parts: [{ name: 'repo.bundle', size: 123_456, sha256: 'ab'.repeat(32) }],
  skipped: [],
  warnings: [],
};

export const session = (over: Partial<SessionDocument> = {}): SessionDocument => ({
  ...BASE,
  turns: [turn()],
  checkpoints: [checkpoint],
  continuity: null,
  attention: [],
  queue: [],
  limits: {
    idle_minutes: 30,
    turn_minutes: 60,
    session_keep_checkpoints: 5,
    messages_queued: 32,
    message_bytes: 1_048_576,
  },
  permissions: { mode: 'all', rules: [] },
  ...over,
});

export const question: CardDocument = {
  id: 'card-000000a1',
  kind: 'question',
  text: 'Which separator?',
  choices: ['comma', 'tab'],
  since: '2026-10-12T08:20:00Z',
  turn: 2,
  questions: [
    {
      id: 'q1',
      text: 'Which separator?',
      choices: [
        { label: 'comma', description: 'as now' },
        { label: 'tab', description: '' },
      ],
      is_multiple: false,
    },
  ],
  tool: null,
};

export const questions: CardDocument = {
  ...question,
  id: 'card-000000a2',
  text: 'Which columns?\nWhich name?',
  choices: [],
  questions: [
    {
      id: 'columns',
      text: 'Which columns?',
      choices: ['id', 'name', 'date'].map((label) => ({ label, description: '' })),
      is_multiple: true,
    },
    { id: 'name', text: 'Which name?', choices: [], is_multiple: false },
  ],
};

export const decision: CardDocument = {
  id: 'card-000000b1',
  kind: 'decision',
  text: 'Run a command?',
  choices: ['allow', 'deny'],
  since: '2026-10-12T08:21:00Z',
  turn: 2,
  questions: [{ id: 'leave', text: 'Run a command?', choices: [], is_multiple: false }],
  tool: { name: 'Bash', input: '{"command":"git push"}' },
};

/** A session in which everything happens at once. */
export const busy = session({
  state: 'ACTIVE',
  state_reason: 'the agent is at work',
  model: 'opus',
  idle_minutes: 0,
  turns: [
    turn({ steered: [{ message_id: 'msg-00000004', text: 'only for new files' }] }),
    turn({ number: 2, outcome: null, finished_at: null, summary: '', usage: null }),
  ],
  permissions: {
    mode: 'ask',
    rules: [{ tool: 'Read', pattern: '*', verdict: 'allow' }],
  },
  queue: [
    {
      message_id: 'msg-00000003',
      text: 'and a test',
      mode: 'auto',
      queued_at: '2026-10-12T08:20:00Z',
      is_steering: true,
    },
  ],
  attention: [
    {
      id: 'card-00000001',
      kind: 'lost_state',
      text: 'node_modules was not kept\u001b[2J',
      choices: ['ok'],
      since: '2026-10-12T08:20:00Z',
      turn: null,
      questions: [],
      tool: null,
    },
    question,
    decision,
  ],
  continuity: {
    conversation: { state: 'kept' },
    commits: { state: 'kept' },
    staged: { state: 'kept' },
    unstaged: { state: 'kept' },
    untracked: { state: 'partly', detail: '1 file left out' },
    ignored: { state: 'lost', detail: 'not asked for' },
    processes: { state: 'lost' },
    losses: [{ path: 'big.bin', reason: 'larger than 20 MB' }],
  },
});

/** A turn as an agent does one. */
export const activity: ActivityItem[] = [
  { type: 'delivered', message_id: 'msg-00000001' },
  { type: 'message', text: 'I run the tests\u001b[2J first.\nThen I fix it.' },
  { type: 'tool_started', call_id: 'c1', tool: 'Bash', input: '{"command":"npm test"}' },
  {
    type: 'tool_finished',
    call_id: 'c1',
    output: `${Array.from({ length: 14 }, (_, index) => `line ${index + 1}`).join('\n')}\n`,
    is_error: true,
    exit_code: 1,
  },
  { type: 'tool_started', call_id: 'c2', tool: 'Read', input: '{"file_path":"src/csv.ts"}' },
  { type: 'tool_finished', call_id: 'c2', output: '', is_error: false },
  { type: 'file_changed', path: 'src/csv.ts', change: 'updated' },
  { type: 'retrying', attempt: 2, reason: 'overloaded', delay_ms: 3000 },
  { type: 'notice', text: 'the context was made shorter' },
  { type: 'asked', ask_id: 'c3', kind: 'decision', text: 'Run a command?' },
  {
    type: 'ended',
    outcome: 'succeeded',
    usage: { input_tokens: 1000, output_tokens: 234, cached_tokens: 0, cost_usd: 0.021 },
  },
].map((item, index) => ({
  cursor: `1.0.${index + 1}`,
  turn: 1,
  at: `2026-10-12T08:00:${String(index + 10)}Z`,
  ...item,
}));

export const summary = (over: Partial<SessionSummary> = {}): SessionSummary => ({
  ...BASE,
  turn_count: 1,
  last_summary: 'The export quotes fields now.\nAll 12 tests pass.',
  attention_count: 0,
  queue_count: 0,
  ...over,
});

export const environment: EnvironmentDocument = {
  name: 'web',
  owner: 'sean',
  version: 3,
  recipe: {
    name: 'web',
    harnesses: ['claude-code', 'codex'],
    setup: ['npm ci'],
    env: {},
    secrets: [],
    git: [{ host: 'example.test', path: 'acme', username: 'x-access-token', secret: 'GIT_TOKEN' }],
    mounts: [],
    network: 'open',
    resources: {},
    repo: 'https://example.test/acme/web.git',
    retention: 'git',
  },
  created_at: '2026-10-01T08:00:00Z',
  updated_at: '2026-10-12T08:00:00Z',
};

/** An event of the sample session; `seconds` after half past eight. */
export const event = <Name extends EventName>(
  version: number,
  type: Name,
  data: Partial<EventMap[Name]>,
  seconds = version,
): EventDocument => ({
  cursor: String(version),
  id: `00000000-0000-4000-8000-${String(version).padStart(12, '0')}`,
  type,
  stream: `session/${SESSION_ID}`,
  version,
  schema: 1,
  session_id: SESSION_ID,
  owner: 'sean',
  at: new Date(Date.parse('2026-10-12T08:30:00Z') + seconds * 1000).toISOString(),
  actor: 'token:tok-0a0b0c0d',
  cause: null,
  correlation: '00000000-0000-4000-8000-0000000000aa',
  data,
});
