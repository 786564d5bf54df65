import { afterEach, describe, expect, it } from '@jest/globals';
import {
  activityStream,
  problem,
  startFakeServer,
  stream,
  type Answer,
  type FakeServer,
} from '../testing/fake-server.ts';
import { golden } from '../testing/golden.ts';
import { runCommand, type RunSetting } from '../testing/run-command.ts';
import {
  activity,
  checkpoint,
  decision,
  event,
  session,
  turn,
} from '../testing/sample-documents.ts';

let server: FakeServer;
afterEach(() => server.close());

const S = '/api/sessions/csv-fix';
const EVENTS = 'GET /api/sessions/ses-1a2b3c4d/events';
const BYID = 'GET /api/sessions/ses-1a2b3c4d';
const MINE = 'msg-00000002';

const parts = Object.fromEntries(
  ['conversation', 'commits', 'staged', 'unstaged', 'untracked', 'ignored', 'processes'].map(
    (name) => [name, { state: name === 'processes' ? 'lost' : 'kept' }],
  ),
);
/** A suspended session gets a message: what a person sees until the agent has answered. */
const story = [
  event(11, 'MessageQueued', { message_id: MINE }, 0),
  event(12, 'ResumeRequested', { reason: 'a message arrived' }, 0),
  event(13, 'SandboxRequested', { purpose: 'resume', environment: 'web' }, 0),
  event(14, 'StartPhaseChanged', { phase: 'cloning', text: 'cloning the repository' }, 3),
  event(15, 'SandboxAttached', {}, 9),
  event(16, 'RestoreRequested', { checkpoint_id: 'ckp-1a2b3c4d-1', attempt: 0 }, 9),
  event(
    17,
    'SessionResumed',
    {
      checkpoint_id: 'ckp-1a2b3c4d-1',
      turns_older: 0,
      continuity: { ...parts, losses: [] } as never,
    },
    11,
  ),
  event(18, 'TurnRequested', { turn: 2, message_id: MINE, harness: 'codex' }, 11),
  event(19, 'TurnStarted', { turn: 2 }, 12),
  event(20, 'MessageDelivered', { turn: 2, message_id: MINE }, 13),
];
const ending = (outcome: string, error?: string) => [
  event(21, 'TurnFinished', { turn: 2, outcome, ...(error ? { error } : {}) }, 72),
  event(22, 'CheckpointDue', { reason: 'turn' }, 72),
  event(
    23,
    'CheckpointRecorded',
    { reason: 'turn', turn: 2, checkpoint_id: 'ckp-1a2b3c4d-2', bytes: 4096, complete: true },
    74,
  ),
  event(24, 'SessionIdled', { reason: `turn 2 ${outcome}` }, 74),
];

const before = session({ state: 'SUSPENDED', sandbox_id: null, version: 10 });
const after = session({
  version: 24,
  turns: [
    turn(),
    turn({
      number: 2,
      message_id: MINE,
      summary: 'Added a test.\nIt passes.',
      checkpoint_id: 'ckp-1a2b3c4d-2',
    }),
  ],
  checkpoints: [
    checkpoint,
    { ...checkpoint, id: 'ckp-1a2b3c4d-2', taken_at: '2026-10-12T08:29:00Z' },
  ],
});

const routes = (events: ReturnType<typeof ending>): Record<string, Answer | Answer[]> => ({
  [`GET ${S}`]: before,
  // The read model is behind at first, and is waited for.
  [BYID]: [before, { ...after, version: 19 }, after],
  [`POST ${S}/send`]: { message_id: MINE, status: 'queued', mode: 'auto' },
  [EVENTS]: stream(events),
});

async function run(
  argv: string[],
  answers: Record<string, Answer | Answer[]>,
  setting: RunSetting = {},
): ReturnType<typeof runCommand> {
  server = await startFakeServer(answers);
  return runCommand(argv, { url: server.url, ...setting });
}

const SEND = ['session', 'send', 'csv-fix', '--wait', 'add a test'];

describe('send --follow', () => {
  const FOLLOW = ['session', 'send', 'csv-fix', '--follow', 'add a test'];
  const items = activity.map((item) => ({
    ...item,
    turn: 2,
    cursor: item.cursor.replace('1', '2'),
  }));
  const LIST = 'GET /api/sessions/ses-1a2b3c4d/activity';
  const live = (kept: typeof items): Record<string, Answer | Answer[]> => ({
    ...routes([...story, ...ending('succeeded')]),
    'GET /api/sessions/ses-1a2b3c4d/activity/live': activityStream(items.slice(0, 2)),
    [LIST]: { items: kept, next_cursor: null },
  });

  it('prints what the agent does, what came late too, and ends with the turn', async () => {
    // The stream brings two; where the turn's end overtook it, the rest is read.
    const kept: Answer = (response, { line }) => {
      const after = /after=([\d.]+)/.exec(line)?.[1];
      const rest = items.slice(items.findIndex(({ cursor }) => cursor === after) + 1);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items: rest, next_cursor: null }));
    };
    const ran = await run(FOLLOW, { ...live(items), [LIST]: kept });
    expect(ran.code).toBe(0);
    const types = ran.out
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[2]);
    expect(types).toEqual(items.map(({ type }) => type));
    expect(ran.err).toMatch(/RESUMING/);
    expect(ran.err.trimEnd()).toMatch(/csv-fix: turn 2 succeeded in .*checkpoint ckp-1a2b3c4d-2$/);
    const [followed] = server.asked.filter(({ line }) => line.includes('/live'));
    expect(followed?.headers['last-event-id']).toBe('2.0.0');
  });

  it('in a turn that runs begins after what it did before', async () => {
    const turns = [turn({ outcome: null, finished_at: null })];
    const ran = await run([...FOLLOW, '--json'], {
      ...live(items),
      [`GET ${S}`]: session({ ...before, state: 'ACTIVE', turns }),
      [LIST]: [
        { items: activity.slice(0, 1), next_cursor: '1.0.1' },
        { items: activity.slice(1, 4), next_cursor: null },
        { items: [], next_cursor: null },
      ],
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
    const [followed] = server.asked.filter(({ line }) => line.includes('/live'));
    expect(followed?.headers['last-event-id']).toBe('1.0.4');
  });

  it('ends with 2 when the agent asks, and says how to answer [A2]', async () => {
    const asks = event(21, 'AttentionRaised', {
      kind: 'decision',
      text: 'Run a command?',
      turn: 2,
      asked: { id: 'c1', kind: 'decision', questions: [] },
    });
    const ran = await run(FOLLOW, { ...live([]), [EVENTS]: stream([...story, asks]) });
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/error: +The agent waits on you: Run a command\?/);
    expect(ran.err).toMatch(/next: +Answer with hangar session answer csv-fix/);
  });

  it('does not wait behind a card that was open before', async () => {
    const turns = [turn(), turn({ number: 2, outcome: null, finished_at: null })];
    const open = session({ ...before, state: 'ACTIVE', turns, attention: [decision] });
    const ran = await run(SEND, { ...live([]), [`GET ${S}`]: open });
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/waits on you/);
    expect(server.asked.some(({ line }) => line.includes('/events'))).toBe(false);
  });
});

describe('send --wait', () => {
  it('shows the phases, then what the agent said', async () => {
    const ran = await run(SEND, routes([...story, ...ending('succeeded')]));
    expect(ran.code).toBe(0);
    expect(ran.out).toBe('Added a test.\nIt passes.\n');
    expect(ran.err).toBe(golden('wait-send', ran.err));
    const [asked] = server.asked.filter(({ line }) => line.includes('/events'));
    expect(asked?.headers['last-event-id']).toBe('10');
  });

  it('is the session alone with --json, as it is after the last event', async () => {
    const ran = await run([...SEND, '--json'], routes([...story, ...ending('succeeded')]));
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toEqual(after);
  });

  it('ends with 1 when the turn failed: why, what is kept, what to do', async () => {
    const ran = await run(SEND, routes([...story, ...ending('failed', 'out of credit')]));
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 1, out: '' });
    const last = ran.err.split('\n').slice(-4).join('\n');
    expect(last).toBe(golden('wait-send-failed', last));
    await server.close();
    const json = await run(
      [...SEND, '--json'],
      routes([...story, ...ending('failed', 'out of credit')]),
    );
    expect(JSON.parse(json.err)).toMatchObject({
      error: { code: 'conflict', detail: expect.stringMatching(/Turn 2 failed.*ckp-1a2b3c4d-2/) },
    });
  });

  it('ends with 1 when the turn was interrupted', async () => {
    const events = [
      ...story,
      event(21, 'SessionInterrupted', { turn: 2, reason: 'the sandbox is gone' }, 60),
    ];
    const ran = await run(SEND, routes(events));
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/next: .*session retry .*session continue/);
  });

  it('stops waiting at Ctrl-C, and nothing else', async () => {
    const ran = await run(SEND, routes(story), {
      onStderr: (text, pressCtrlC) => {
        if (text.includes('the agent is at work')) pressCtrlC();
      },
    });
    expect(ran.code).toBe(2);
    const last = ran.err.split('\n').slice(-4).join('\n');
    expect(last).toBe(golden('wait-ctrl-c', last));
    expect(server.asked.map(({ line }) => line)).not.toContain(`POST ${S}/interrupt`);
  });

  it('stops waiting when its time is up, and says that the work goes on', async () => {
    const ran = await run(['session', 'send', 'csv-fix', '--wait=1', 'x'], routes(story));
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/error: No outcome within 1 s\.\nkept: +The work goes on/);
  });

  it('ends with 1 when the message is refused, before it waits', async () => {
    const full = problem(429, 'exhausted', '32 messages already wait.', 'Send it later.');
    const ran = await run(SEND, { [`GET ${S}`]: before, [`POST ${S}/send`]: full });
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toBe(
      'error: 32 messages already wait.\nkept:  Nothing was changed.\nnext:  Send it later.\n',
    );
  });
});

describe('new --wait', () => {
  const started = [
    event(1, 'SessionCreated', { name: 'csv-fix' }, 0),
    event(2, 'SandboxRequested', { purpose: 'start', environment: 'web' }, 0),
    event(3, 'StartPhaseChanged', { phase: 'setup', text: 'running setup' }, 4),
    event(4, 'SessionStarted', {}, 9),
  ];
  const NEW = ['session', 'new', 'csv-fix', '--env', 'web', '--harness', 'codex', '--wait'];

  it('ends when the sandbox is ready', async () => {
    const ran = await run(
      NEW,
      {
        'POST /api/sessions': session({ state: 'STARTING', version: 2 }),
        [BYID]: [session({ state: 'STARTING', version: 2 }), session({ version: 4 })],
        [EVENTS]: stream(started),
      },
      { tty: true },
    );
    expect(ran).toMatchObject({
      code: 0,
      out: 'csv-fix (ses-1a2b3c4d) is IDLE: turn 1 succeeded\n',
    });
    expect(ran.err).toContain('STARTING    running setup (4 s)\n');
  });

  it('ends with 1 when it cannot start', async () => {
    const failed = event(4, 'SessionFailed', { reason: 'pulling the image: no such image' }, 9);
    const ran = await run(
      NEW,
      {
        'POST /api/sessions': session({ state: 'STARTING', version: 2 }),
        [BYID]: session({ state: 'FAILED', version: 4, checkpoints: [] }),
        [EVENTS]: stream([...started.slice(0, 3), failed]),
      },
      { tty: true },
    );
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/error: It failed: pulling the image: no such image/);
    expect(ran.err).toMatch(/next: +Run hangar session open/);
  });
});

describe('open --wait', () => {
  it('of what is open ends at once', async () => {
    const ran = await run(['session', 'open', 'csv-fix', '--wait'], {
      [`GET ${S}`]: session(),
      [BYID]: session(),
      [`POST ${S}/open`]: session(),
      [EVENTS]: stream([]),
    });
    expect(ran.code).toBe(0);
  });
});

describe('suspend --wait', () => {
  it('ends with 1 when the checkpoint is incomplete', async () => {
    const ran = await run(['session', 'suspend', 'csv-fix', '--wait'], {
      [`GET ${S}`]: session(),
      [`POST ${S}/suspend`]: session({ state: 'SUSPENDING', version: 11 }),
      [BYID]: session({ version: 12 }),
      [EVENTS]: stream([
        event(11, 'SuspendRequested', { reason: 'suspended on demand' }, 0),
        event(12, 'SuspendAborted', { reason: 'not suspended: the sandbox is kept' }, 2),
      ]),
    });
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/It was not suspended.*\nkept: .*ckp-1a2b3c4d-1.*\nnext: .*--force/);
  });
});
