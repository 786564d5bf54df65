import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HangarClient } from '@hangar/client';
import type { SessionDocument } from '@hangar/contracts';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  type Workplace,
} from './workplace.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const NODE = join(ROOT, 'node_modules/.bin/node');
const CLI = join(ROOT, 'apps/cli/dist/main.js');

jest.setTimeout(TEST_MS_MAX);

/** What an operation is about: the session of its surface, and the card that waits there. */
interface About {
  ref: string;
  card: string;
}

/** Why it was not done, in the words of the server. */
interface Refusal {
  code: string;
  detail: string;
  hint: string;
}

/** One operation, as each surface says it. A new surface is a column here, and one in `SURFACES`. */
interface Operation {
  what: string;
  rest: (about: About) => [at: string, body: object];
  cli: (about: About) => string[];
  mcp: (about: About) => [tool: string, input: object];
  /** What it comes to; of a refusal its code. */
  outcome: Partial<Outcome> | string;
}

interface Outcome {
  state: string;
  turns: (string | null)[];
  summaries: string[];
  attention: string[];
  queue: number;
  idle_minutes: number;
}

const ASK = '[[ ask: Which fix? | A | B ;; say: and on ]]';

const operations = (repo: string): Operation[] => [
  {
    what: 'create, with a message',
    rest: ({ ref }) => [
      'POST /api/sessions',
      { name: ref, environment: 'default', harness: 'fake', repo, message: '[[ say: made ]]' },
    ],
    cli: ({ ref }) => [
      ...`session new ${ref} --env default --harness fake --repo ${repo}`.split(' '),
      '[[ say: made ]]',
    ],
    mcp: ({ ref }) => [
      'new_session',
      { name: ref, environment: 'default', harness: 'fake', repo, message: '[[ say: made ]]' },
    ],
    outcome: { state: 'IDLE', turns: ['succeeded'], summaries: ['made'] },
  },
  {
    what: 'create, with a name that is taken',
    rest: ({ ref }) => [
      'POST /api/sessions',
      { name: ref, environment: 'default', harness: 'fake' },
    ],
    cli: ({ ref }) => `session new ${ref} --env default --harness fake`.split(' '),
    mcp: ({ ref }) => ['new_session', { name: ref, environment: 'default', harness: 'fake' }],
    outcome: 'conflict',
  },
  {
    what: 'create, with a harness that is not there',
    rest: ({ ref }) => [
      'POST /api/sessions',
      { name: `${ref}-x`, environment: 'default', harness: 'nobody' },
    ],
    cli: ({ ref }) => `session new ${ref}-x --env default --harness nobody`.split(' '),
    mcp: ({ ref }) => [
      'new_session',
      { name: `${ref}-x`, environment: 'default', harness: 'nobody' },
    ],
    outcome: 'invalid',
  },
  {
    what: 'keep',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/keep`, { idle_minutes: 7 }],
    cli: ({ ref }) => ['session', 'keep', ref, '--idle', '7'],
    mcp: ({ ref }) => ['keep_session', { session: ref, idle_minutes: 7 }],
    outcome: { state: 'IDLE', idle_minutes: 7 },
  },
  {
    what: 'send to a session that is not there',
    rest: () => ['POST /api/sessions/nobody/send', { message: 'hi' }],
    cli: () => ['session', 'send', 'nobody', 'hi'],
    mcp: () => ['send_to_session', { session: 'nobody', message: 'hi' }],
    outcome: 'not_found',
  },
  {
    what: 'interrupt where no turn runs',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/interrupt`, {}],
    cli: ({ ref }) => ['session', 'interrupt', ref],
    mcp: ({ ref }) => ['interrupt_session', { session: ref }],
    outcome: 'conflict',
  },
  {
    what: 'suspend',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/suspend`, {}],
    cli: ({ ref }) => ['session', 'suspend', ref],
    mcp: ({ ref }) => ['suspend_session', { session: ref }],
    outcome: { state: 'SUSPENDED', turns: ['succeeded'] },
  },
  {
    what: 'open',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/open`, {}],
    cli: ({ ref }) => ['session', 'open', ref],
    mcp: ({ ref }) => ['open_session', { session: ref }],
    outcome: { state: 'IDLE', turns: ['succeeded'] },
  },
  {
    what: 'send, where the agent asks',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/send`, { message: ASK }],
    cli: ({ ref }) => ['session', 'send', ref, ASK],
    mcp: ({ ref }) => ['send_to_session', { session: ref, message: ASK }],
    outcome: { state: 'ACTIVE', turns: ['succeeded', null], attention: ['question: Which fix?'] },
  },
  {
    what: 'answer',
    rest: ({ ref, card }) => [`POST /api/sessions/${ref}/cards/${card}/answer`, { text: 'B' }],
    cli: ({ ref, card }) => ['session', 'answer', ref, card, 'B'],
    mcp: ({ ref, card }) => ['answer', { session: ref, card, text: 'B' }],
    outcome: { state: 'IDLE', turns: ['succeeded', 'succeeded'], attention: [] },
  },
  {
    what: 'archive',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/archive`, {}],
    cli: ({ ref }) => ['session', 'archive', ref, '--yes'],
    mcp: ({ ref }) => ['archive_session', { session: ref }],
    outcome: { state: 'ARCHIVED', turns: ['succeeded', 'succeeded'] },
  },
  {
    what: 'send to an archived one',
    rest: ({ ref }) => [`POST /api/sessions/${ref}/send`, { message: 'hi' }],
    cli: ({ ref }) => ['session', 'send', ref, 'hi'],
    mcp: ({ ref }) => ['send_to_session', { session: ref, message: 'hi' }],
    outcome: 'conflict',
  },
];

describe(`the same operation has the same outcome from every surface [U6] (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;
  let mcp: Client;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = system.client();
    await defineEnvironment(client, work);
    mcp = new Client({ name: 'e2e', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${system.token}` } };
    const url = new URL(`${system.url}/mcp`);
    await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  });

  afterAll(async () => {
    await mcp?.close();
    await system?.dispose();
    await work?.dispose();
  });

  /** The words of a refusal, or null; none of them waits. */
  const SURFACES: Record<string, (operation: Operation, about: About) => Promise<Refusal | null>> =
    {
      rest: async ({ rest }, about) => {
        const [at, body] = rest(about);
        const [method = '', path = ''] = at.split(' ');
        const answer = await fetch(system.url + path, {
          method,
          headers: {
            authorization: `Bearer ${system.token}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify(body),
        });
        return answer.ok ? null : ((await answer.json()) as Refusal);
      },
      cli: async ({ cli }, about) => {
        const env = { HANGAR_URL: system.url, HANGAR_TOKEN: system.token };
        const [code, err] = await new Promise<[number, string]>((resolve) => {
          const child = execFile(NODE, [CLI, ...cli(about), '--json'], { env }, (_e, _out, text) =>
            resolve([child.exitCode ?? -1, text]),
          );
          child.stdin?.end();
        });
        return code === 0 ? null : (JSON.parse(err) as { error: Refusal }).error;
      },
      mcp: async (operation, about) => {
        const [name, input] = operation.mcp(about);
        const waits = !['keep_session', 'archive_session'].includes(name);
        const given = { ...input, ...(waits && { wait_seconds: 0 }) };
        const answer = await mcp.callTool({ name, arguments: given });
        return answer.isError ? (answer.structuredContent as unknown as Refusal) : null;
      },
    };

  it.each(operations('').map(({ what }, place) => [what, place] as const))(
    '%s',
    async (what, place) => {
      const operation = operations(work.repo)[place];
      if (!operation) throw new Error('unreachable');
      const outcomes: Record<string, Outcome | string> = {};
      for (const [surface, act] of Object.entries(SURFACES)) {
        const ref = `by-${surface}`;
        const known = await client.sessions.get(ref).catch(() => null);
        const refusal = await act(operation, { ref, card: known?.attention[0]?.id ?? '' });
        if (refusal) said.push({ what, words: wordsOf(refusal, ref, known?.id) });
        outcomes[surface] = refusal ? refusal.code : await settled(ref, operation.outcome);
      }
      const { rest = '' } = outcomes;
      expect({ rest }).toMatchObject({ rest: operation.outcome });
      expect(outcomes).toEqual({ rest, cli: rest, mcp: rest });
    },
  );

  /** What the session comes to; the bound is there for a failing test only. */
  async function settled(ref: string, expected: Operation['outcome']): Promise<Outcome | string> {
    if (typeof expected === 'string') return 'not refused';
    const { state, attention = [] } = expected;
    const isThere = (s: SessionDocument): boolean =>
      s.state === state && s.attention.length === attention.length;
    return outcomeOf(await sessionWhere(client, ref, isThere));
  }

  const said: { what: string; words: string }[] = [];

  it('and a refusal has the same words, and says what to do next', () => {
    const whats = operations('').filter(({ outcome }) => typeof outcome === 'string');
    for (const { what } of whats) {
      const words = said.filter((each) => each.what === what).map((each) => each.words);
      expect([what, words.length]).toEqual([what, Object.keys(SURFACES).length]);
      expect([what, ...new Set(words)]).toEqual([what, words[0]]);
    }
  });
});

const outcomeOf = (session: SessionDocument): Outcome => ({
  state: session.state,
  turns: session.turns.map(({ outcome }) => outcome),
  summaries: session.turns.map(({ summary }) => summary),
  attention: session.attention.map(({ kind, text }) => `${kind}: ${text}`),
  queue: session.queue.length,
  idle_minutes: session.idle_minutes,
});

/** Without what is the surface's own: its session, capitals, and the sentence on what was kept. */
function wordsOf({ detail, hint }: Refusal, ref: string, id: string | undefined): string {
  const own = detail.replace(/ Nothing was changed\.$/, '');
  const sentences = [own, hint].map((text) => text.replace(/\.$/, ''));
  const words = sentences.join('; ').toLowerCase();
  return [id ?? ref, ref].reduce((text, name) => text.replaceAll(name, 'SESSION'), words);
}
