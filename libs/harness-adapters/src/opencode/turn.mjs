/**
 * hangar's part of a turn with OpenCode: `node turn.mjs <program> <conversation id or "">`
 *
 * OpenCode's whole ability is in its HTTP server, and its conversation in a database. This runs
 * the server on loopback for one turn, does the requests that come as lines of JSON on stdin
 * (`key`, `method`, `path`, `body`), and says its answers (`hangar.response`) and its events. It
 * keeps the conversation as a file, one line for the session and one for each message, and gives
 * it to the database when that does not hold the same.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { descendants, end, guard, list } from './processes.mjs';

const [program, resumed] = process.argv.slice(2);
const database = process.env.OPENCODE_DB;
const conversations = join(homedir(), '.local/share/hangar-opencode');
const password = randomBytes(24).toString('base64url');
const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`;

/** How long the server may take to start: a cold start reads 180 MB. */
const START_MILLISECONDS_MAX = 120_000;
/** Longest request: all of them are answered at once by OpenCode. */
const REQUEST_MILLISECONDS_MAX = 60_000;
/** End of OpenCode's stderr that is passed on when it leaves, in characters. */
const STDERR_CHARACTERS_MAX = 4_000;
/** Events that say something of a turn; all others stay here. */
const EVENTS =
  /^(message\.|permission\.asked$|question\.asked$|session\.(status|idle|error)$|file\.edited$)/;
const LISTENING = /listening on (http:\S+)/;

let server = null;
let stderr = '';
let session = resumed ?? '';
let isLeaving = false;

const say = (json) => process.stdout.write(`${JSON.stringify(json)}\n`);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => leave(1));

async function main() {
  holdBackInstall();
  if (resumed) await giveToDatabase(resumed);
  const url = await startServer();
  await passEventsOn(url);
  for await (const line of createInterface({ input: process.stdin }))
    await request(url, JSON.parse(line));
  await saved;
  leave(0);
}

/** Otherwise it fetches the package for plugins from npm; with plugins of a person's own it may. */
function holdBackInstall() {
  const directory = join(homedir(), '.config/opencode');
  if (existsSync(join(directory, 'node_modules'))) return;
  mkdirSync(join(directory, 'node_modules'), { recursive: true });
  const lock = { packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } };
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify(lock));
}

function startServer() {
  const env = { ...process.env, OPENCODE_SERVER_PASSWORD: password };
  server = spawn(program, ['serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  guard(server);
  keepStderr(server);
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error('OpenCode did not start in time'));
    const timer = setTimeout(late, START_MILLISECONDS_MAX);
    createInterface({ input: server.stdout }).on('line', (line) => {
      const url = LISTENING.exec(line)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
    server.on('error', reject);
    server.on('exit', (code) => reject(new Error(`OpenCode ended (exit code ${code})`)));
    server.on('exit', () => leave(1));
  });
}

function keepStderr(child) {
  child.stderr.on('data', (chunk) => (stderr = (stderr + chunk).slice(-STDERR_CHARACTERS_MAX)));
}

async function call(url, method, path, body) {
  const address = new URL(path.replace('{session}', session), url);
  address.searchParams.set('directory', process.cwd());
  const response = await fetch(address, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function request(url, { key, method, path, body }) {
  const response = await call(url, method, path, body);
  if (session === '') session = response.body?.id ?? '';
  say({ type: 'hangar.response', key, ...response });
}

async function passEventsOn(url) {
  const address = new URL('/event', url);
  address.searchParams.set('directory', process.cwd());
  const response = await fetch(address, { headers: { authorization } });
  void readEvents(url, response.body.pipeThrough(new TextDecoderStream())).catch(() => leave(1));
}

async function readEvents(url, chunks) {
  let rest = '';
  for await (const chunk of chunks) {
    const texts = (rest + chunk).split('\n\n');
    rest = texts.pop();
    for (const text of texts) await event(url, JSON.parse(text.replace(/^data: /, '')));
  }
  throw new Error('OpenCode closed its events');
}

/** What ends a step is on disk before it is said: a killed turn goes on from there. */
async function event(url, { type, properties }) {
  if (!EVENTS.test(type)) return;
  const status = properties.part?.state?.status;
  const isStep =
    type === 'message.part.updated' && (status === 'running' || status === 'completed');
  if (type === 'session.idle') await save(url);
  else if (isStep || properties.info?.role === 'user') void save(url);
  say({ type, ...properties });
}

let saved = Promise.resolve();
let isSaveDue = false;

function save(url) {
  if (isSaveDue) return saved;
  isSaveDue = true;
  saved = saved.then(async () => {
    isSaveDue = false;
    await write(
      await call(url, 'GET', '/session/{session}'),
      await call(url, 'GET', '/session/{session}/message'),
    );
  });
  saved.catch(() => leave(1));
  return saved;
}

async function write(info, messages) {
  if (info.status !== 200 || messages.status !== 200) return;
  const lines = [{ info: info.body }, ...messages.body].map((json) => `${JSON.stringify(json)}\n`);
  const path = join(conversations, `${session}.jsonl`);
  mkdirSync(conversations, { recursive: true });
  writeFileSync(`${path}.new`, lines.join(''));
  renameSync(`${path}.new`, path);
  writeFileSync(marker(session), hashOf(lines.join('')));
}

const marker = (id) => `${database}.${id}`;
const hashOf = (text) => createHash('sha256').update(text).digest('hex');

/** The file is the truth: it was restored, rolled back or mended by hangar. */
async function giveToDatabase(id) {
  const text = read(join(conversations, `${id}.jsonl`));
  if (text === null || read(marker(id)) === hashOf(text)) return;
  const directory = dirname(database);
  mkdirSync(directory, { recursive: true });
  for (const name of list(directory)) {
    if (join(directory, name).startsWith(database)) rmSync(join(directory, name), { force: true });
  }
  const [session, ...messages] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const path = `${database}.import.json`;
  writeFileSync(path, JSON.stringify({ ...session, messages }));
  const importer = spawn(program, ['import', path], { stdio: ['ignore', 'pipe', 'pipe'] });
  importer.stdout.resume();
  guard(importer);
  keepStderr(importer);
  await new Promise((resolve) => importer.on('close', resolve));
  rmSync(path, { force: true });
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function leave(code) {
  if (isLeaving) return;
  isLeaving = true;
  const pids =
    server === null || server.exitCode !== null ? [] : [...descendants(server.pid), server.pid];
  for (const pid of pids) end(pid);
  if (code !== 0) say({ type: 'hangar.exit', code, stderr: stderr.slice(-STDERR_CHARACTERS_MAX) });
  process.stdout.write('', () => process.exit(code));
}

main().catch((error) => {
  stderr += `\n${error?.message ?? error}`;
  leave(1);
});
