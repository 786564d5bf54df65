import { describe, expect, it } from '@jest/globals';
import { startFakeServer } from '../testing/fake-server.ts';
import { golden } from '../testing/golden.ts';
import { runCommand, type RunSetting } from '../testing/run-command.ts';
import { VERB_CASES } from '../testing/verb-cases.ts';
import { allCommands } from './all-commands.ts';

/** What a person sees at a screen, in a pipe and with --json, and what the server is asked. */
describe.each(VERB_CASES.map((one) => [one.name, one] as const))('%s', (name, one) => {
  const forms: [form: string, more: string[], setting: RunSetting][] = [
    ['screen', [], { tty: true, colour: true }],
    ['pipe', [], {}],
    ['json', ['--json'], {}],
  ];

  it.each(forms)('%s', async (form, more, setting) => {
    const server = await startFakeServer(one.routes);
    const end = one.argv.indexOf('--');
    const argv = end < 0 ? [...one.argv, ...more] : one.argv.toSpliced(end, 0, ...more);
    try {
      const ran = await runCommand(argv, { url: server.url, ...one.setting, ...setting });
      const asked = server.asked.map(({ line, body }) => `> ${line} ${body}`.trimEnd());
      const text = [
        `$ hangar ${argv.join(' ')}`,
        ...asked,
        `exit ${ran.code}`,
        '--- stdout',
        ran.out,
        '--- stderr',
        ran.err,
      ].join('\n');
      const shown = text.replaceAll(server.url, 'http://server');
      expect(shown).toBe(golden(`${form}-${name}`, shown));
    } finally {
      await server.close();
    }
  });
});

describe('what scripts read', () => {
  it('is one JSON document on stdout with --json, and nothing on stderr', async () => {
    for (const one of VERB_CASES) {
      // These print lines of JSON, as their pages say.
      if (['session-events', 'session-activity', 'audit-export'].includes(one.name)) continue;
      const server = await startFakeServer(one.routes);
      const end = one.argv.indexOf('--');
      const argv = one.argv.toSpliced(end < 0 ? one.argv.length : end, 0, '--json');
      const { out, err } = await runCommand(argv, { url: server.url, ...one.setting });
      await server.close();
      expect({ name: one.name, err }).toEqual({ name: one.name, err: '' });
      expect(() => JSON.parse(out) as unknown).not.toThrow();
    }
  });
});

describe('the routes of the server', () => {
  /** Deliberately without a command, and why. */
  const WITHOUT = new Map([
    [
      'POST /api/environments',
      'env apply always names the environment: PUT, which may be repeated',
    ],
    ['GET /health/live', 'for the supervisor of the process; doctor asks for ready'],
  ]);
  /** The surface of the server [U1] [U4], with the names that its OpenAPI document gives the parameters. */
  const ROUTES = [
    'POST /api/sessions',
    'GET /api/sessions',
    'GET /api/sessions/{ref}',
    'POST /api/sessions/{ref}/open',
    'POST /api/sessions/{ref}/send',
    'DELETE /api/sessions/{ref}/queue/{message_id}',
    'POST /api/sessions/{ref}/cards/{card_id}/answer',
    'PUT /api/sessions/{ref}/permissions',
    'PUT /api/sessions/{ref}/harness',
    'GET /api/sessions/{ref}/activity',
    'GET /api/sessions/{ref}/activity/live',
    'GET /api/sessions/{ref}/decisions',
    'POST /api/sessions/{ref}/suspend',
    'POST /api/sessions/{ref}/interrupt',
    'POST /api/sessions/{ref}/retry',
    'POST /api/sessions/{ref}/continue',
    'POST /api/sessions/{ref}/keep',
    'POST /api/sessions/{ref}/rename',
    'POST /api/sessions/{ref}/archive',
    'DELETE /api/sessions/{ref}',
    'GET /api/sessions/{ref}/checkpoints',
    'POST /api/sessions/{ref}/checkpoints',
    'GET /api/sessions/{ref}/checkpoints/{id}/export',
    'GET /api/sessions/{ref}/changes',
    'POST /api/sessions/{ref}/exec',
    'POST /api/sessions/{ref}/terminals',
    'GET /api/sessions/{ref}/terminals',
    'DELETE /api/sessions/{ref}/terminals/{id}',
    'GET /api/sessions/{ref}/terminals/{id}/attach',
    'GET /api/sessions/{ref}/events',
    'GET /api/events',
    'POST /api/environments',
    'PUT /api/environments/{name}',
    'GET /api/environments',
    'GET /api/environments/{name}',
    'DELETE /api/environments/{name}',
    'POST /api/secrets',
    'GET /api/secrets',
    'DELETE /api/secrets/{name}',
    'GET /api/who',
    'POST /api/tokens',
    'GET /api/tokens',
    'DELETE /api/tokens/{id}',
    'POST /api/webhooks',
    'GET /api/webhooks',
    'GET /api/webhooks/{name}',
    'DELETE /api/webhooks/{name}',
    'POST /api/webhooks/{name}/test',
    'POST /api/webhooks/{name}/redeliver',
    'GET /api/harnesses',
    'GET /api/limits',
    'GET /api/audit',
    'GET /api/audit/verify',
    'GET /api/audit/replay',
    'POST /mcp',
    'GET /api/openapi.json',
    'GET /health/live',
    'GET /health/ready',
  ];

  it('each have a command, or a reason for none', () => {
    const used = new Set(allCommands.flatMap(({ routes }) => routes));
    const wanted = ROUTES.filter((route) => !WITHOUT.has(route));
    expect([...used].toSorted()).toEqual(wanted.toSorted());
  });

  it('are asked for by the command that names them', async () => {
    const asked = new Set<string>();
    for (const one of VERB_CASES) {
      const server = await startFakeServer(one.routes);
      await runCommand(one.argv, { url: server.url, ...one.setting });
      await server.close();
      for (const { line } of server.asked) {
        const [method, path = ''] = line.split('?', 1)[0]?.split(' ') ?? [];
        asked.add(`${method} ${path}`);
      }
    }
    const notAsked = allCommands.filter(({ path, routes }) => {
      const form = new RegExp(`^${routes[0]?.replace(/\{[a-z_]+\}/g, '[^/]+')}$`);
      return !NOT_IN_CASES.has(path.join(' ')) && ![...asked].some((line) => form.test(line));
    });
    expect(notAsked.map(({ path }) => path.join(' '))).toEqual([]);
  });

  /** These have specs of their own: they touch files, the machine, the keyboard or stdin. */
  const NOT_IN_CASES = new Set([
    'checkpoint export',
    'mcp',
    'doctor',
    'completion',
    'session attach',
  ]);
});
