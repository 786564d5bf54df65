import { API_VERSION, type HangarClient, type ServerReport } from '@hangar/client';
import { HangarError } from '@hangar/contracts';
import type { Connection } from '../../connection.ts';
import { durationText } from '../../output/quantities.ts';
import { fail, ok, warn, type Check } from './check.ts';

/** The Date header has whole seconds, and the answer takes a moment. */
const CLOCK_SECONDS_MAX = 5;

export interface ServerCheckOptions {
  client: HangarClient;
  connection: Connection;
  now(): Date;
}

/** All that can be asked of the server; one finding when it is not there. */
export async function checkServer(options: ServerCheckOptions): Promise<Check[]> {
  const { client, connection } = options;
  let report: ServerReport;
  const askedAt = options.now();
  try {
    report = await client.server.report();
  } catch (error) {
    const { message, hint } = HangarError.from(error);
    const fix = hint ?? 'Start it with npm start, or name another with --url.';
    return [fail('server', `${connection.url}: ${message}`, fix)];
  }
  return [
    checkVersion(connection.url, report.apiVersion),
    checkClock(report.time, askedAt, options.now()),
    ...(await checkReady(client)),
    await checkToken(client, connection),
  ];
}

function checkVersion(url: string, server: string): Check {
  const detail = `${url}, API version ${server}`;
  if (server === API_VERSION) return ok('server', detail);
  const fix = `This command speaks version ${API_VERSION}: use the one that came with the server.`;
  return fail('server', detail, fix);
}

function checkClock(server: Date | null, askedAt: Date, answeredAt: Date): Check {
  if (server === null)
    return warn('clock', 'the server does not say its time', 'Check both clocks.');
  const middle = (askedAt.getTime() + answeredAt.getTime()) / 2;
  const seconds = (server.getTime() - middle) / 1000;
  const detail = `the server is ${durationText(Math.abs(seconds))} ${seconds < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(seconds) <= CLOCK_SECONDS_MAX) return ok('clock', 'the same as the server');
  return warn(
    'clock',
    detail,
    'Let both machines set their clock by NTP; ages look wrong until then.',
  );
}

async function checkReady(client: HangarClient): Promise<Check[]> {
  try {
    const { ready, parts } = await client.server.ready();
    const fix = 'Look at the log of the server; it serves again by itself when the part is back.';
    const found = parts.map(({ name, ok: up, detail }) =>
      up ? ok(`ready: ${name}`, detail) : fail(`ready: ${name}`, detail, fix),
    );
    if (parts.length > 0) return found;
    return [ready ? ok('ready', 'yes') : fail('ready', 'the server says it is not', fix)];
  } catch (error) {
    return [fail('ready', HangarError.from(error).message, 'Look at the log of the server.')];
  }
}

async function checkToken(client: HangarClient, connection: Connection): Promise<Check> {
  if (connection.token === undefined) {
    return fail('token', connection.tokenSource, 'Set HANGAR_TOKEN or use --token-file.');
  }
  try {
    const { owner, scopes } = await client.server.who();
    const detail = `${owner} (${scopes.join(', ')}), from ${connection.tokenSource}`;
    if (!connection.tokenIsOpen) return ok('token', detail);
    return warn('token', `${detail}; others can read it`, `chmod 600 ${connection.tokenSource}`);
  } catch (error) {
    const { code, message } = HangarError.from(error);
    const fix =
      code === 'unauthenticated'
        ? `The server does not know the token from ${connection.tokenSource}: get another one.`
        : 'Try again when the server is ready.';
    return fail('token', message, fix);
  }
}
