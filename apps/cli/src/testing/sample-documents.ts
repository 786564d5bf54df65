import type {
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
  ...over,
});

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
    git: [],
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
