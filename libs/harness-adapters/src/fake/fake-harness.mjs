#!/usr/bin/env node
/**
 * A harness without a model, for tests and demonstrations: it does what the script in its prompt
 * says and keeps its conversation as JSON lines, so that everything around it can be tried.
 *
 *   [[ say: hello ;; run: echo hi ++ run: pwd ;; write: a.txt=text ;; wait: 500 ;; until: go.txt ]]
 *   error: 529x2 (two retries, then on)   error: 429 resets=1790000000   crash   hang   echo
 *
 * usage: fake-harness.mjs --session ID [--resume]
 * stdin:  {"type":"message","id":"...","text":"..."}   {"type":"interrupt"}
 * stdout: session, accepted, delta, said, tool_start, tool_end, file, retry, notice, done
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const POLL_MILLISECONDS = 50;
const WAIT_MILLISECONDS_MAX = 600_000;
const OUTPUT_CHARACTERS_MAX = 64 * 1024;
/** Every reply costs the same, so that tests can add up. */
const REPLY = { input_tokens: 1000, output_tokens: 50, cached_tokens: 200, cost_usd: 0.001 };

const { values } = parseArgs({
  options: { session: { type: 'string' }, resume: { type: 'boolean', default: false } },
});
const id = values.session ?? '';
const path = `${homedir()}/.fake-harness/sessions/${id}.jsonl`;
const stopped = new AbortController();
const children = new Set();
let replies = 0;

const emit = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const keep = (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`);

if (values.resume && !existsSync(path)) {
  process.stderr.write(`No conversation found with id ${id}\n`);
  process.exit(1);
}
if (!values.resume && existsSync(path)) {
  process.stderr.write(`Conversation ${id} is already in use\n`);
  process.exit(1);
}
mkdirSync(dirname(path), { recursive: true });
if (!values.resume) keep({ type: 'session', id, cwd: process.cwd() });
emit({ type: 'session', id });

let working = null;
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  if (message.type === 'interrupt') stop();
  if (message.type === 'message' && working === null) working = turn(message);
});
// The end of the input while working stops the turn, as the real harnesses do it.
lines.on('close', () => {
  stop();
  void Promise.resolve(working).then(() => process.exit(0));
});
process.once('SIGTERM', () => {
  stop();
  void Promise.resolve(working).then(() => process.exit(143));
});

function stop() {
  stopped.abort();
  for (const child of children) killGroup(child);
}

function killGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

async function turn(message) {
  keep({ type: 'user', id: message.id, text: message.text });
  emit({ type: 'accepted', id: message.id });
  const script = [...message.text.matchAll(/\[\[([\s\S]*?)\]\]/g)].at(-1)?.[1] ?? 'echo';
  let end = { outcome: 'succeeded' };
  try {
    for (const step of script.split(';;')) {
      for (const action of step.split(/\s\+\+\s/)) end = (await act(action.trim())) ?? end;
      replies += 1;
      if (stopped.signal.aborted) end = { outcome: 'cancelled' };
      if (end.outcome !== 'succeeded') break;
    }
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    end = { outcome: 'cancelled' };
  }
  if (end.outcome === 'cancelled') keep({ type: 'interrupted' });
  const usage = Object.fromEntries(
    Object.entries(REPLY).map(([name, amount]) => [name, amount * replies]),
  );
  emit({ type: 'done', ...end, usage });
}

async function act(action) {
  const colon = action.indexOf(':');
  const verb = colon < 0 ? action : action.slice(0, colon).trim();
  const rest = colon < 0 ? '' : action.slice(colon + 1).trim();
  switch (verb) {
    case 'say':
      return say(rest);
    case 'echo':
    case '':
      return say(sentence());
    case 'run':
      return run(rest);
    case 'write':
      return write(rest);
    case 'wait':
      await sleep(Math.min(Number(rest) || 0, WAIT_MILLISECONDS_MAX), null, stopped);
      return undefined;
    case 'until':
      return until(rest);
    case 'error':
      return fail(rest);
    case 'crash':
      process.kill(process.pid, 'SIGKILL');
      return undefined;
    case 'hang':
      await sleep(WAIT_MILLISECONDS_MAX, null, stopped);
      return undefined;
    default:
      return { outcome: 'failed', error: { message: `unknown action "${verb}"`, status: 400 } };
  }
}

function say(text) {
  for (const delta of text.match(/\S+\s*/g) ?? []) emit({ type: 'delta', text: delta });
  keep({ type: 'assistant', text });
  emit({ type: 'said', text });
}

/** The same proof of a resumed conversation that the model server gives. */
function sentence() {
  const entries = readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
  const people = entries.filter((entry) => entry.type === 'user');
  const assistants = entries.filter((entry) => entry.type === 'assistant').length;
  const quote = (entry) => (entry?.text ?? '').trim().slice(0, 120);
  return (
    `I was sent ${people.length} user and ${assistants} assistant messages. ` +
    `The first said "${quote(people.at(0))}", the last said "${quote(people.at(-1))}".`
  );
}

function run(command) {
  const call = `call-${replies}-${children.size}-${Date.now().toString(36)}`;
  emit({ type: 'tool_start', id: call, name: 'shell', input: { command } });
  keep({ type: 'call', id: call, command });
  return new Promise((settle) => {
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn('/bin/sh', ['-c', command], { stdio, detached: true });
    children.add(child);
    let output = '';
    const collect = (chunk) => {
      output = (output + chunk).slice(0, OUTPUT_CHARACTERS_MAX);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('close', (code) => {
      children.delete(child);
      keep({ type: 'result', id: call, output, exit_code: code });
      emit({ type: 'tool_end', id: call, output, exit_code: code, is_error: code !== 0 });
      settle(undefined);
    });
  });
}

function write(rest) {
  const equals = rest.indexOf('=');
  const file = resolve(rest.slice(0, equals).trim());
  const change = existsSync(file) ? 'updated' : 'created';
  const call = `call-${replies}-write-${Date.now().toString(36)}`;
  emit({ type: 'tool_start', id: call, name: 'write', input: { path: file } });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, rest.slice(equals + 1));
  keep({ type: 'call', id: call, path: file });
  emit({ type: 'tool_end', id: call, output: '', exit_code: 0, is_error: false });
  emit({ type: 'file', path: file, change });
}

async function until(file) {
  const deadline = Date.now() + WAIT_MILLISECONDS_MAX;
  while (!existsSync(resolve(file)) && Date.now() < deadline) {
    await sleep(POLL_MILLISECONDS, null, stopped);
  }
}

function fail(rest) {
  const found = /^(\d{3})(?:x(\d+))?(?:\s+resets=(\d+))?$/.exec(rest);
  const status = Number(found?.[1] ?? 500);
  const message = `scripted error ${status}`;
  if (found?.[2] !== undefined) {
    for (let attempt = 1; attempt <= Number(found[2]); attempt += 1) {
      emit({ type: 'retry', attempt, reason: message });
    }
    return undefined;
  }
  const resets = found?.[3] === undefined ? {} : { resets_at: Number(found[3]) };
  return { outcome: 'failed', error: { message, status, ...resets } };
}
