import { expect } from '@jest/globals';
import { HangarError, type CardDocument, type SessionDocument } from '@hangar/contracts';
import type { ExecRequest } from '@hangar/sandbox-drivers';
import { execStream } from '../../../../../libs/gateway/src/testing/stack.ts';
import { bytes, type LimitBench, type LimitTest, type LimitTests } from './bench.ts';

/** What is asked for with this much or this many; gives the status. */
type Ask = (bench: LimitBench, size: number) => Promise<number>;

/** That much is taken, and one more is refused. */
const bounds =
  (ask: Ask, refusal = 400): LimitTest =>
  async (value, bench) => {
    expect(await ask(bench, value)).toBeLessThan(300);
    expect(await ask(bench, value + 1)).toBe(refusal);
  };

const recipe = (of: (size: number) => object): LimitTest =>
  bounds(async (bench, size) => {
    const made = await bench.call(`PUT /api/environments/${bench.name()}`, of(size));
    return made.status;
  });

const many = <T>(size: number, one: (at: number) => T): T[] =>
  Array.from({ length: size }, (_, at) => one(at));

/** Something of a session at rest. */
const ofSession = (at: string, body: (size: number) => unknown): LimitTest =>
  bounds(async (bench, size) => {
    const [method, path] = at.split(' ');
    return (
      await bench.call(`${method} /api/sessions/${await bench.resting()}/${path}`, body(size))
    ).status;
  });

/** JSON of an exact size: blanks are part of a body. */
const padded = (body: object, size: number): string => {
  const text = JSON.stringify(body);
  return text + ' '.repeat(size - text.length);
};

/** JSON of so many bytes. */
const sized = (path: string, body: object): LimitTest =>
  bounds(async (bench, size) => {
    const at = `POST /api/sessions/${await bench.resting()}/${path}`;
    const headers = { 'content-type': 'application/json' };
    return (await bench.call(at, padded(body, size), headers)).status;
  }, 413);

/** What reached the sandbox of an exec that was allowed. */
async function executed(bench: LimitBench, body: object): Promise<ExecRequest | null> {
  const seen: ExecRequest[] = [];
  bench.stack.exec = (request) => {
    seen.push(request);
    return execStream({});
  };
  const id = await bench.resting();
  const { status } = await bench.call(`POST /api/sessions/${id}/exec`, { argv: ['true'], ...body });
  expect(status).toBe(seen.length === 1 ? 200 : 400);
  return seen[0] ?? null;
}

async function openCard(bench: LimitBench): Promise<[string, CardDocument]> {
  const id = await bench.atWork();
  const question = { id: 'q', text: 'Which one?', choices: [], is_multiple: false };
  await bench.stack.spokes.ask(id, 1, { id: 'call-1', kind: 'question', questions: [question] });
  await bench.when(id, ({ attention }) => attention.length > 0);
  const [card] = (await bench.get(id)).attention;
  if (!card) throw new HangarError('internal', 'no card was raised');
  return [id, card];
}

const TAKE_BACK_SLACK_MS = 5_000;

/** What requests may hold, over HTTP. */
export const requestLimits: LimitTests = {
  message_bytes: bounds(async (bench, size) => {
    const at = `POST /api/sessions/${await bench.atRest()}/send`;
    return (await bench.call(at, { message: bytes(size) })).status;
  }),
  message_comments: bounds(async (bench, size) => {
    const at = `POST /api/sessions/${await bench.atRest()}/send`;
    const comments = many(size, () => ({ path: 'a.txt', line: 1, code: 'x', text: 'why' }));
    return (await bench.call(at, { comments })).status;
  }),
  title_characters: ofSession('POST rename', (size) => ({ title: 'x'.repeat(size) })),
  idle_minutes_max: ofSession('POST keep', (size) => ({ idle_minutes: size })),
  turn_minutes_max: recipe((size) => ({ turn_minutes: size })),
  permission_rules: ofSession('PUT permissions', (size) => ({
    rules: many(size, () => ({ tool: 'Bash', verdict: 'deny' })),
  })),
  permission_pattern_characters: ofSession('PUT permissions', (size) => ({
    rules: [{ tool: 'x'.repeat(size), pattern: 'x'.repeat(size), verdict: 'deny' }],
  })),
  setup_commands: recipe((size) => ({ setup: many(size, () => 'true') })),
  setup_command_characters: recipe((size) => ({ setup: ['x'.repeat(size)] })),
  env_vars: recipe((size) => ({ env: Object.fromEntries(many(size, (at) => [`V${at}`, 'x'])) })),
  env_var_characters: recipe((size) => ({ env: { V: 'x'.repeat(size) } })),
  mounts: recipe((size) => ({
    mounts: many(size, (at) => ({ source: '/data', target: `/data/${at}` })),
  })),
  environment_secrets: recipe((size) => ({ secrets: many(size, (at) => `S${at}`) })),
  git_credentials: recipe((size) => ({
    git: many(size, (at) => ({ host: `git-${at}.example.org`, secret: 'S' })),
  })),
  body_bytes: sized('keep', { idle_minutes: 7 }),
  exec_body_bytes: sized('exec', { argv: ['true'] }),
  secret_bytes: bounds(
    async (bench, size) =>
      (await bench.call('POST /api/secrets', { name: 'LONG', value: bytes(size) })).status,
  ),
  secrets: async (value, bench) => {
    const token = await newToken(bench, 'many-secrets');
    const set = async (at: number): Promise<number> =>
      (await bench.call('POST /api/secrets', { name: `S${at}`, value: 'x' }, {}, token)).status;
    await bench.stack.log.pool.query(
      "insert into secret select 'many-secrets', 'N' || n, '', 1, now() from generate_series(2, $1) n",
      [value],
    );
    expect(await set(0)).toBe(201);
    expect(await set(1)).toBe(429);
  },
  tokens: async (value, bench) => {
    const make = async (): Promise<number> => {
      const wish = { owner: 'many-tokens', name: 'spec', scope: 'read' };
      return (await bench.call('POST /api/tokens', wish)).status;
    };
    const statuses = await Promise.all(many(value, make));
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect(await make()).toBe(429);
  },
  wait_seconds: bounds(async (bench, size) => {
    const id = await bench.resting();
    return (await bench.call(`POST /api/sessions/${id}/open?wait=${size}`, {})).status;
  }),
  page_size: bounds(
    async (bench, size) => (await bench.call(`GET /api/sessions?limit=${size}`)).status,
  ),
  exec_seconds: async (value, bench) => {
    const taken = await executed(bench, { timeout_seconds: value });
    expect(taken?.timeoutMs).toBe(value * 1000);
    expect(await executed(bench, { timeout_seconds: value + 1 })).toBeNull();
  },
  exec_arguments: async (value, bench) => {
    const argv = (size: number): object => ({ argv: many(size, () => 'x') });
    expect((await executed(bench, argv(value)))?.argv).toHaveLength(value);
    expect(await executed(bench, argv(value + 1))).toBeNull();
  },
  exec_argument_characters: async (value, bench) => {
    const argv = (size: number): object => ({ argv: ['x'.repeat(size)] });
    expect((await executed(bench, argv(value)))?.argv[0]).toHaveLength(value);
    expect(await executed(bench, argv(value + 1))).toBeNull();
  },
  exec_stdin_bytes: async (value, bench) => {
    const length = async (body: object): Promise<number | undefined> =>
      ((await executed(bench, body))?.stdin as Buffer | undefined)?.byteLength;
    const base64 = (size: number): object => ({
      stdin_base64: Buffer.alloc(size).toString('base64'),
    });
    expect(await length({ stdin: bytes(value) })).toBe(value);
    expect(await length({ stdin: bytes(value + 1) })).toBeUndefined();
    expect(await length(base64(value))).toBe(value);
    expect(await length(base64(value + 1))).toBeUndefined();
  },
  exec_output_bytes: async (value, bench) => {
    const id = await bench.resting();
    const told = async (size: number): Promise<[number, boolean]> => {
      const output = Buffer.alloc(size, 'x');
      bench.stack.exec = () => execStream({ stdout: output, stderr: output });
      const at = `POST /api/sessions/${id}/exec`;
      const { body } = await bench.call<Record<string, never>>(at, { argv: ['true'] });
      expect(body['stderr_truncated']).toBe(body['stdout_truncated']);
      return [String(body['stdout']).length, body['stdout_truncated'] ?? false];
    };
    expect(await told(value)).toEqual([value, false]);
    expect(await told(value + 1)).toEqual([value, true]);
  },
  answer_characters: async (value, bench) => {
    const [id, card] = await openCard(bench);
    const answer = async (size: number): Promise<number> => {
      const at = `POST /api/sessions/${id}/cards/${card.id}/answer`;
      return (await bench.call(at, { text: 'x'.repeat(size) })).status;
    };
    expect(await answer(value + 1)).toBe(400);
    expect(await answer(value)).toBe(202);
  },
  take_back_seconds: async (value, bench) => {
    const id = await bench.atWork();
    bench.stack.spokes.held.add('SteerRequested').add('TakeBackRequested');
    const sent = await bench.call<{ message_id: string }>(`POST /api/sessions/${id}/send`, {
      message: 'wait',
    });
    const before = performance.now();
    const asked = await bench.call(`DELETE /api/sessions/${id}/queue/${sent.body.message_id}`);
    const ms = performance.now() - before;
    expect(asked.status).toBe(202);
    expect(ms).toBeGreaterThanOrEqual(value * 1000);
    expect(ms).toBeLessThan(value * 1000 + TAKE_BACK_SLACK_MS);
  },
  idempotency_key_characters: bounds(async (bench, size) => {
    const headers = { 'idempotency-key': 'k'.repeat(size) };
    return (await bench.call('POST /api/secrets', { name: 'KEYED', value: 'x' }, headers)).status;
  }),
  idempotency_key_days: async (value, bench) => {
    const headers = { 'idempotency-key': bench.name() };
    const wish = { name: bench.name(), environment: 'bounded', harness: 'fake' };
    const ask = async (): Promise<string> =>
      (await bench.call<SessionDocument>('POST /api/sessions', wish, headers)).body.id;
    const grow = (days: number, hours: number): Promise<unknown> =>
      bench.stack.log.pool.query(
        `update gateway.idempotency_key
           set at = now() - make_interval(days => $2, hours => $3) where key = $1`,
        [headers['idempotency-key'], days, hours],
      );
    const id = await ask();
    await grow(value, -1);
    expect(await ask()).toBe(id);
    await grow(value, 1);
    // Forgotten, it makes something new, and that name is taken.
    expect(await ask()).toBeUndefined();
  },
  event_streams: async (value, bench) => {
    const closing = new AbortController();
    const open = (): Promise<Response> =>
      fetch(`${bench.stack.url}/api/events`, {
        headers: { authorization: `Bearer ${bench.token}` },
        signal: closing.signal,
      });
    try {
      // Held: one that nobody holds any more is closed by the collector.
      const streams = await Promise.all(many(value, open));
      expect((await open()).status).toBe(429);
      expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    } finally {
      closing.abort();
    }
  },
};

async function newToken(bench: LimitBench, owner: string): Promise<string> {
  const wish = { owner, name: 'spec', scope: 'write' };
  return (await bench.call<{ token: string }>('POST /api/tokens', wish)).body.token;
}
