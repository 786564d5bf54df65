import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { HangarClient } from '@hangar/client';
import { installHarness } from '@hangar/harness-adapters';
import { Client, type CallToolResult } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { HARNESS_CACHE, SHAPE, System } from './system.ts';
import {
  MODEL,
  TEST_MS_MAX,
  WAIT_SECONDS,
  defineEnvironment,
  openWorkplace,
  shell,
  type Workplace,
} from './workplace.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const NODE = join(ROOT, 'node_modules/.bin/node');
const CLI = join(ROOT, 'apps/cli/dist/main.js');

jest.setTimeout(TEST_MS_MAX);

describe(`an agent that uses hangar by MCP (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;
  let home: string;
  let claude: string;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = system.client();
    await defineEnvironment(client, work);
    home = mkdtempSync(join(tmpdir(), 'hangar-mcp-'));
    const installed = await installHarness('claude-code', HARNESS_CACHE, () => undefined);
    claude = join(installed, 'bin/claude');
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
    rmSync(home, { recursive: true, force: true });
  });

  /** The command that an agent starts, as its configuration names it. */
  const stdio = () => ({
    command: NODE,
    args: [CLI, 'mcp'],
    env: { HANGAR_URL: system.url, HANGAR_TOKEN: system.token },
  });
  const http = () => ({
    type: 'http',
    url: `${system.url}/mcp`,
    headers: { Authorization: `Bearer ${system.token}` },
  });

  /** Claude Code outside of hangar, with hangar as its one server; what its tools answered. */
  async function useClaude(server: object, script: string): Promise<string[]> {
    work.model.reset();
    const config = JSON.stringify({ mcpServers: { hangar: server } });
    await promisify(execFile)(
      claude,
      [
        '--print',
        script,
        '--model',
        MODEL['claude-code'] ?? '',
        '--strict-mcp-config',
        '--mcp-config',
        config,
        '--allowedTools',
        'mcp__hangar',
      ],
      {
        cwd: home,
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          ...work.envVars,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
        },
      },
    );
    return work.model.requests().findLast(({ tools }) => tools > 0)?.toolResults ?? [];
  }

  const script = (name: string): string => {
    const created = { name, environment: 'default', harness: 'fake', repo: work.repo };
    const steps = [
      `call: mcp__hangar__new_session ${JSON.stringify({ ...created, message: 'think of a pelican' })}`,
      `call: mcp__hangar__send_to_session ${JSON.stringify({ session: name, message: 'and a heron' })}`,
      `call: mcp__hangar__get_session ${JSON.stringify({ session: name })}`,
      `call: mcp__hangar__send_to_session ${JSON.stringify({ session: 'nobody', message: 'hi' })}`,
      'say: done',
    ];
    return `[[ ${steps.join(' ;; ')} ]]`;
  };

  it.each([
    ['http', http],
    ['stdio', stdio],
  ])(
    'Claude Code over %s creates a session, sends a message, reads the answer [U4]',
    async (name, server) => {
      const results = await useClaude(server(), script(name));
      const session = await client.sessions.get(name);
      expect(session).toMatchObject({ state: 'IDLE', repo: work.repo });
      expect(session.turns.map(({ message, outcome }) => [message, outcome])).toEqual([
        ['think of a pelican', 'succeeded'],
        ['and a heron', 'succeeded'],
      ]);
      const [created, sent, got] = results.map(answerShown);
      expect(created?.turn).toMatchObject({ number: 1, answer: session.turns[0]?.summary });
      expect(sent?.turn).toMatchObject({ number: 2, answer: session.turns[1]?.summary });
      expect(got?.next).toContain('send_to_session');
      expect(results[3]).toContain('You have no session called nobody.');
      expect(results).toHaveLength(4);
    },
  );

  it.each(['auto', 'legacy'] as const)(
    'the official client over stdio (%s protocol) waits for a turn, and sees its work',
    async (mode) => {
      const ref = `official-${mode}`;
      const mcp = new Client({ name: 'e2e', version: '1' }, { versionNegotiation: { mode } });
      const { env, ...server } = stdio();
      await mcp.connect(new StdioClientTransport({ ...server, env: { ...env, PATH: '/usr/bin' } }));
      expect(mcp.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
      const told: string[] = [];
      const call = async (name: string, input: object): Promise<CallToolResult> =>
        mcp.callTool(
          { name, arguments: { ...input } },
          {
            timeout: WAIT_SECONDS * 1000,
            onprogress: ({ message = '' }) => void told.push(message),
          },
        );
      const created = { name: ref, environment: 'default', harness: 'fake', repo: work.repo };
      const made = await call('new_session', {
        ...created,
        message: '[[ run: echo hello >>a.txt ;; until: go.txt ;; say: it is done ]]',
        wait_seconds: 1,
      });
      expect(made.structuredContent).toMatchObject({ pending: true });
      const waiting = call('get_session', { session: ref, wait_seconds: WAIT_SECONDS });
      await untilTold(told, 'ACTIVE: turn 1');
      await shell(client, ref, 'touch go.txt');
      const done = await waiting;
      expect(done.structuredContent).toMatchObject({
        pending: false,
        turn: { outcome: 'succeeded', answer: 'it is done' },
      });
      const changes = await call('changes', { session: ref, path: 'a.txt' });
      expect(changes.content).toMatchObject([{ text: expect.stringContaining('+hello') }]);
      const activity = await call('activity', { session: ref });
      expect(activity.content).toMatchObject([{ text: expect.stringContaining('echo hello') }]);
      await mcp.close();
    },
  );
});

interface Shown {
  turn: { number: number; answer: string };
  next: string;
}

/** Claude Code gives its model the structured answer, and notes of its own after it. */
function answerShown(result: string): Partial<Shown> {
  const [answer = ''] = result.split('\n<system-reminder>', 1);
  return answer.startsWith('{') ? (JSON.parse(answer) as Shown) : {};
}

async function untilTold(told: string[], what: string): Promise<void> {
  const deadline = Date.now() + WAIT_SECONDS * 1000;
  while (!told.some((message) => message.includes(what))) {
    if (Date.now() > deadline) throw new Error(`never told ${what}, but ${told.join(' | ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
