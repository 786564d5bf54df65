import { describe, expect, it } from '@jest/globals';
import { createHangarClient, type HangarClient } from './client.ts';
import { readinessOf } from './calls/server-calls.ts';

interface Sent {
  line: string;
  body: unknown;
  hasKey: boolean;
}

/** A client whose calls are answered with `{}` and kept. */
function recording(): { client: HangarClient; sent: Sent[] } {
  const sent: Sent[] = [];
  const record: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers);
    const text = typeof init?.body === 'string' ? init.body : null;
    sent.push({
      line: `${init?.method} ${String(url).replace('http://h', '')}`,
      body: text?.startsWith('{') ? JSON.parse(text) : text,
      hasKey: headers.has('idempotency-key'),
    });
    return Promise.resolve(new Response('{}'));
  };
  return { client: createHangarClient({ url: 'http://h/', fetch: record }), sent };
}

type Case = [
  line: string,
  call: (c: HangarClient) => Promise<unknown>,
  body: unknown,
  key: boolean,
];
const NEW = { name: 'a', environment: 'web', harness: 'codex' };

const CASES: Case[] = [
  ['POST /api/sessions', (c) => c.sessions.create(NEW), NEW, true],
  [
    'GET /api/sessions?state=IDLE&q=x',
    (c) => c.sessions.list({ state: 'IDLE', q: 'x' }),
    null,
    false,
  ],
  ['GET /api/sessions/a%2Fb', (c) => c.sessions.get('a/b'), null, false],
  ['POST /api/sessions/a/open?wait=5', (c) => c.sessions.open('a', { waitSeconds: 5 }), {}, false],
  [
    'POST /api/sessions/a/send',
    (c) => c.sessions.send('a', { message: 'm' }),
    { message: 'm' },
    true,
  ],
  [
    'POST /api/sessions/a/send?wait=9',
    (c) => c.sessions.sendAndWait('a', { message: 'm' }, { waitSeconds: 9 }),
    { message: 'm' },
    true,
  ],
  ['DELETE /api/sessions/a/queue/msg-1', (c) => c.sessions.takeBack('a', 'msg-1'), null, false],
  [
    'POST /api/sessions/a/cards/card-1/answer?wait=4',
    (c) => c.sessions.answer('a', 'card-1', { text: 'yes' }, { waitSeconds: 4 }),
    { text: 'yes' },
    false,
  ],
  [
    'PUT /api/sessions/a/permissions',
    (c) => c.sessions.permissions('a', { mode: 'ask' }),
    { mode: 'ask' },
    false,
  ],
  [
    'PUT /api/sessions/a/harness',
    (c) => c.sessions.changeHarness('a', { model: 'm' }),
    { model: 'm' },
    false,
  ],
  [
    'GET /api/sessions/a/activity?after=2.0.0&limit=5',
    (c) => c.activity.list('a', { after: '2.0.0', limit: 5 }),
    null,
    false,
  ],
  ['GET /api/sessions/a/decisions?turn=2', (c) => c.decisions.list('a', { turn: 2 }), null, false],
  [
    'POST /api/sessions/a/suspend',
    (c) => c.sessions.suspend('a', { force: true }),
    { force: true },
    false,
  ],
  ['POST /api/sessions/a/archive', (c) => c.sessions.archive('a'), {}, false],
  ['POST /api/sessions/a/keep', (c) => c.sessions.keep('a', 0), { idle_minutes: 0 }, false],
  ['POST /api/sessions/a/interrupt', (c) => c.sessions.interrupt('a'), {}, false],
  ['POST /api/sessions/a/retry', (c) => c.sessions.retry('a'), {}, false],
  ['POST /api/sessions/a/continue', (c) => c.sessions.continue('a'), {}, false],
  [
    'POST /api/sessions/a/rename',
    (c) => c.sessions.rename('a', { name: 'b' }),
    { name: 'b' },
    false,
  ],
  ['DELETE /api/sessions/a', (c) => c.sessions.delete('a'), null, false],
  [
    'DELETE /api/sessions/a?force=true',
    (c) => c.sessions.delete('a', { force: true }),
    null,
    false,
  ],
  ['GET /api/sessions/a/checkpoints', (c) => c.checkpoints.list('a'), null, false],
  ['POST /api/sessions/a/checkpoints', (c) => c.checkpoints.take('a'), {}, true],
  [
    'GET /api/sessions/a/checkpoints/ckp-1/export',
    (c) => c.checkpoints.export('a', 'ckp-1'),
    null,
    false,
  ],
  [
    'POST /api/sessions/a/exec',
    (c) => c.sandboxes.exec('a', { argv: ['ls'] }),
    { argv: ['ls'] },
    false,
  ],
  ['GET /api/sessions/a/changes', (c) => c.sandboxes.changes('a'), null, false],
  ['POST /api/environments', (c) => c.environments.createYaml('name: web'), 'name: web', true],
  [
    'PUT /api/environments/web',
    (c) => c.environments.applyYaml('web', 'repo: x'),
    'repo: x',
    false,
  ],
  ['GET /api/environments', (c) => c.environments.list(), null, false],
  ['GET /api/environments/web', (c) => c.environments.get('web'), null, false],
  ['DELETE /api/environments/web', (c) => c.environments.delete('web'), null, false],
  ['GET /api/harnesses', (c) => c.harnesses.list(), null, false],
  ['GET /api/limits?environment=web', (c) => c.limits.get({ environment: 'web' }), null, false],
  [
    'POST /api/secrets',
    (c) => c.secrets.set({ name: 'A', value: 'v' }),
    { name: 'A', value: 'v' },
    true,
  ],
  ['GET /api/secrets', (c) => c.secrets.list(), null, false],
  ['DELETE /api/secrets/A', (c) => c.secrets.delete('A'), null, false],
  [
    'POST /api/tokens',
    (c) => c.tokens.create({ name: 'ci', scope: 'read' }),
    { name: 'ci', scope: 'read' },
    true,
  ],
  ['GET /api/tokens', (c) => c.tokens.list(), null, false],
  ['DELETE /api/tokens/tok-1', (c) => c.tokens.revoke('tok-1'), null, false],
  [
    'POST /api/webhooks',
    (c) => c.webhooks.create({ name: 'pager', url: 'http://r/' }),
    { name: 'pager', url: 'http://r/' },
    true,
  ],
  ['GET /api/webhooks', (c) => c.webhooks.list(), null, false],
  ['GET /api/webhooks/a%2Fb', (c) => c.webhooks.get('a/b'), null, false],
  ['GET /api/webhooks/a?state=dead', (c) => c.webhooks.get('a', { state: 'dead' }), null, false],
  ['DELETE /api/webhooks/a', (c) => c.webhooks.delete('a'), null, false],
  ['POST /api/webhooks/a/test', (c) => c.webhooks.test('a'), {}, true],
  [
    'POST /api/webhooks/a/redeliver',
    (c) => c.webhooks.redeliver('a', 'dlv-1'),
    { delivery: 'dlv-1' },
    false,
  ],
  [
    'GET /api/audit?type=TurnFinished&limit=5',
    (c) => c.audit.list({ type: 'TurnFinished', limit: 5 }),
    null,
    false,
  ],
  ['GET /api/audit?format=jsonl', (c) => c.audit.export(), null, false],
  ['GET /api/audit/verify', (c) => c.audit.verify(), null, false],
  [
    'GET /api/audit/replay?session=a&version=3',
    (c) => c.audit.replay({ session: 'a', version: 3 }),
    null,
    false,
  ],
  ['GET /api/openapi.json', (c) => c.server.report(), null, false],
  ['GET /health/ready', (c) => c.server.ready(), null, false],
  ['GET /api/who', (c) => c.server.who(), null, false],
];

describe('the client', () => {
  it.each(CASES)('%s', async (line, call, body, hasKey) => {
    const { client, sent } = recording();
    await call(client);
    expect(sent).toEqual([{ line, body, hasKey }]);
  });

  it('makes a new key for each creating call, and takes the one it is given', async () => {
    const keys: (string | null)[] = [];
    const record: typeof fetch = (_url, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return Promise.resolve(new Response('{}'));
    };
    const client = createHangarClient({ url: 'http://h', fetch: record });
    await client.sessions.send('a', { message: 'm' });
    await client.sessions.send('a', { message: 'm' });
    await client.sessions.send('a', { message: 'm' }, { idempotencyKey: 'mine' });
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys[2]).toBe('mine');
  });
});

describe('readiness', () => {
  it('names the part that is down, and why', () => {
    const details = {
      postgres: { status: 'up' },
      nats: { status: 'down', message: 'the connection is closed' },
    };
    expect(readinessOf(503, JSON.stringify({ status: 'error', details }))).toEqual({
      ready: false,
      parts: [
        { name: 'postgres', ok: true, detail: 'up' },
        { name: 'nats', ok: false, detail: 'the connection is closed' },
      ],
    });
  });

  it('is told by the status when the document is another', () => {
    expect(readinessOf(200, 'fine')).toEqual({ ready: true, parts: [] });
    expect(readinessOf(503, '{}')).toEqual({ ready: false, parts: [] });
  });
});
