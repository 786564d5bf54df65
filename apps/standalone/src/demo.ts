import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { createHangarClient, type HangarClient } from '@hangar/client';
import { HangarError, type SessionDocument } from '@hangar/contracts';
import { isHarnessInstalled } from '@hangar/harness-adapters';
import { readConfig, type Closable } from '@hangar/service-kit';
import { startModel, type Model } from './demo-model.ts';
import { startStack } from './stack.ts';

/** What a person sees: a line for each thing that happens, in words. */
const say = (text = ''): void => void process.stdout.write(`${text}\n`);
const step = (number: number, text: string): void => say(`\n${number}. ${text}`);
const show = (text: string): void => say(text.trimEnd().replaceAll(/^/gm, '     | '));

const WAIT_SECONDS = 120;
const SESSION = 'csv-export';
const WORD = 'pelican';

const FIRST_TURN = `Please start on the CSV export. By the way, the release is called "${WORD}".`;
/** What the scripted model does in it: commits, and leaves work that no commit holds. */
const FIRST_SCRIPT =
  'run: printf "export function toCsv() {}\\n" > export.js && git add export.js && ' +
  'git commit -qm "start the CSV export" && echo "CSV export is coming." >> README.md && ' +
  'echo "quote fields with commas" > notes.txt ;; ' +
  'say: The export is begun, the README says so, and my notes are in notes.txt.';
const SECOND_TURN = 'What was the release called, and what is left to do?';
const PARTS = [
  'conversation',
  'commits',
  'staged',
  'unstaged',
  'untracked',
  'ignored',
  'processes',
] as const;
const LOOK = 'git log --oneline; git status --short; cat notes.txt';

const root = resolve(import.meta.dirname, '../../..');
const home = resolve(process.env['HANGAR_STATE'] ?? join(root, '.hangar'), 'demo');
const near = (path: string): string => relative(process.cwd(), path) || '.';

async function shell(client: HangarClient, script: string): Promise<string> {
  const done = await client.sandboxes.exec(SESSION, { argv: ['sh', '-c', script] });
  return `${done.stdout ?? ''}${done.stderr ?? ''}`;
}

/** A repository of its own, so that nothing of the person's is touched. */
async function makeRepository(directory: string): Promise<string> {
  const repo = join(directory, 'shop.git');
  const seed = join(directory, 'seed');
  const git = (...args: string[]): void => void execFileSync('git', args, { stdio: 'pipe' });
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  git('init', '-q', '--bare', '-b', 'main', repo);
  git('init', '-q', '-b', 'main', seed);
  await writeFile(join(seed, 'README.md'), '# shop\n');
  git('-C', seed, 'add', '.');
  git('-C', seed, ...author, 'commit', '-qm', 'first commit');
  git('-C', seed, 'push', '-q', repo, 'main');
  return repo;
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new HangarError('internal', `the demo did not go as it should: ${what}`);
}

async function play(client: HangarClient, model: Model, repo: string): Promise<void> {
  step(1, 'A session is created: pi, on a small repository, with a first message.');
  await client.environments.apply('demo', {
    env: { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'not-a-real-key' },
  });
  await model.script(FIRST_SCRIPT);
  await client.sessions.create({
    name: SESSION,
    environment: 'demo',
    harness: 'pi',
    model: 'claude-sonnet-4-5',
    repo,
    base_branch: 'main',
    message: FIRST_TURN,
  });
  const first = await rest(client, (s) => s.turns.length === 1);
  say(`   The agent worked for one turn and said: ${first.turns[0]?.summary}`);
  check(first.turns[0]?.outcome === 'succeeded', first.turns[0]?.error ?? 'the first turn failed');
  const before = await shell(client, LOOK);
  show(before);

  step(2, 'After the turn everything was checkpointed; nobody asked for it.');
  const checkpoint = first.checkpoints.at(-1);
  say(`   ${checkpoint?.id}: ${checkpoint?.parts.map((p) => p.name).join(', ')} (sealed)`);

  step(3, 'The session is suspended. Its sandbox goes away, with all it held.');
  const sandbox = join(home, 'sandboxes', first.sandbox_id ?? '');
  const suspended = await client.sessions.suspend(SESSION, {}, { waitSeconds: WAIT_SECONDS });
  check(suspended.state === 'SUSPENDED', suspended.state_reason);
  check(!existsSync(sandbox), 'the sandbox is still there');
  say(`   ${near(sandbox)} does not exist any more; the session costs storage only.`);

  step(4, 'Days later, a message. hangar makes a fresh sandbox and brings the work back.');
  const asked = (await model.requests()).length;
  const second = await client.sessions.sendAndWait(
    SESSION,
    { message: SECOND_TURN },
    { waitSeconds: WAIT_SECONDS },
  );
  check(second.turns.at(-1)?.outcome === 'succeeded', second.turns.at(-1)?.error ?? 'no answer');
  say(`   ${first.sandbox_id} was replaced by ${second.sandbox_id}.`);
  say(`   The agent answered: ${second.turns.at(-1)?.summary}`);

  step(5, 'What came back.');
  const after = await shell(client, LOOK);
  show(after);
  check(after === before, 'the tree is not what it was');
  const sent = (await model.requests()).slice(asked).at(-1);
  check(
    sent?.userTexts.some((text) => text.includes(WORD)) ?? false,
    'the conversation was not resumed',
  );
  say(`   The tree is byte for byte the same: commit, uncommitted change, untracked file.`);
  say(`   The conversation is the same one (${second.harness_session}): the model was sent the`);
  say(`   first turn's words again, "${WORD}" among them.`);
  for (const part of PARTS) {
    const kept = second.continuity?.[part];
    say(`     ${part.padEnd(13)} ${kept?.state}${kept?.detail ? `, ${kept.detail}` : ''}`);
  }
}

/** Follows the session until it is at rest, telling each phase once. */
async function rest(
  client: HangarClient,
  condition: (s: SessionDocument) => boolean,
): Promise<SessionDocument> {
  let told = '';
  const deadline = Date.now() + WAIT_SECONDS * 1000;
  for (;;) {
    const session = await client.sessions.get(SESSION);
    const line = `${session.state.padEnd(9)} ${session.state_reason}`;
    if (line !== told) say(`   ${line}`);
    told = line;
    if (session.state === 'FAILED') throw new HangarError('internal', session.state_reason);
    if (session.state === 'IDLE' && condition(session)) return session;
    if (Date.now() > deadline) throw new HangarError('unavailable', `still ${line}`);
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

async function main(): Promise<void> {
  say('hangar demo: work that outlives its sandbox.');
  // The harness is kept between demos: it is the only thing worth fetching once.
  await clean();
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  if (!isHarnessInstalled('pi', join(home, 'harnesses')))
    say('(The agent CLI, pi, is fetched from npm at the first demo; that takes some seconds.)');
  const parts: Closable[] = [];
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).toReversed()) await part.close();
  };
  const interrupted = (): void => void stop().finally(() => process.exit(130));
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    const model = await startModel(root);
    parts.push({ name: 'model', close: model.close });
    const settings = readConfig({
      HANGAR_STATE: home,
      HANGAR_PORT: '0',
      HANGAR_LOG_LEVEL: process.env['HANGAR_LOG_LEVEL'] ?? 'warn',
      ...(process.env['HANGAR_LOCAL_ISOLATION']
        ? { HANGAR_LOCAL_ISOLATION: process.env['HANGAR_LOCAL_ISOLATION'] }
        : {}),
    });
    const stack = await startStack(settings, {});
    parts.push(...stack.parts);
    for (const warning of stack.warnings) say(`(!! ${warning})`);
    const client = createHangarClient({ url: stack.url, token: stack.adminToken });
    await play(client, model, await makeRepository(home));
    await client.sessions.delete(SESSION, { force: true });
    await sandboxesGone();
  } finally {
    await stop();
  }
  await clean();
  say(
    `\nDone, and cleaned up. Kept for the next time: ${near(join(home, 'harnesses'))} (pi itself).`,
  );
  say('To use it for real: npm start');
}

/** The deleted session's sandbox is removed by the service; nothing of it may stay. */
async function sandboxesGone(): Promise<void> {
  const directory = join(home, 'sandboxes');
  const deadline = Date.now() + 20_000;
  const left = async (): Promise<string[]> =>
    (await readdir(directory).catch(() => [])).filter((name) => name.startsWith('sbx-'));
  while ((await left()).length > 0) {
    if (Date.now() > deadline) throw new HangarError('internal', 'a sandbox was left behind');
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

async function clean(): Promise<void> {
  const names = await readdir(home).catch(() => []);
  for (const name of names)
    if (name !== 'harnesses') await rm(join(home, name), { recursive: true, force: true });
}

try {
  await main();
} catch (error) {
  const failure = HangarError.from(error);
  say(`\nThe demo failed: ${failure.message}${failure.hint ? `\n${failure.hint}` : ''}`);
  process.exitCode = 1;
}
