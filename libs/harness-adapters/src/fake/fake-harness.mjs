#!/usr/bin/env node
/**
 * A harness without a model, for tests and demonstrations: it does what the script in its prompt
 * says and keeps its conversation as JSON lines, so that everything around it can be tried.
 *
 *   [[ say: hello ;; run: echo hi ++ run: pwd ;; write: a.txt=text ;; wait: 500 ;; until: go.txt ]]
 *   error: 529x2 (two retries, then on)   error: 429 resets=1790000000   crash   hang
 *   ask: Which? | A | B   (a question with choices, or none; the answer is said as `answered: B`)
 *   clock: go.txt   (writes what its clock says, monotonic nanoseconds, until the file is there)
 *   echo   (says what it was sent; steered messages, answers and refusals too, in order)
 *
 * A message that comes while it works is applied between two actions: its own script is done
 * before the rest, and without a script it is quoted. `--asks-leave`: `run` and `write` ask first.
 * An open ask that is deferred is kept in the conversation file; `--resume` asks it again, with
 * the same id and before anything else, and goes on with the rest.
 *
 * `--talk`: a person types line by line, and each is a message of the conversation; `/exit` leaves.
 *
 * usage: fake-harness.mjs --session ID [--resume] [--asks-leave] [--talk]
 * stdin:  {"type":"message","id":"...","text":"..."}   {"type":"withdraw","id":"..."}
 *         {"type":"answer","id":"...","verdict":"allow","answers":{"q1":"B"},"reason":""}
 *         {"type":"defer"}   {"type":"interrupt"}
 * stdout: session, accepted, returned, asked, ask_closed, delta, said, tool_start, tool_end, file,
 *         retry, notice, done
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
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
  options: {
    session: { type: 'string' },
    resume: { type: 'boolean', default: false },
    'asks-leave': { type: 'boolean', default: false },
    talk: { type: 'boolean', default: false },
  },
});
const id = values.session ?? '';
const path = `${homedir()}/.fake-harness/sessions/${id}.jsonl`;
const stopped = new AbortController();
const children = new Set();
/** Messages that were not applied yet. */
const queued = [];
/** `{ id, settle }` of what a person is asked. */
let open = null;
let working = null;
let hasPrompt = false;
let isOver = false;
let replies = 0;

const emit = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const keep = (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`);
const newId = (kind) => `${kind}-${randomBytes(6).toString('hex')}`;

const isOld = values.resume || values.talk;

if (isOld && !existsSync(path)) {
  process.stderr.write(`No conversation found with id ${id}\n`);
  process.exit(1);
}
if (!isOld && existsSync(path)) {
  process.stderr.write(`Conversation ${id} is already in use\n`);
  process.exit(1);
}
mkdirSync(dirname(path), { recursive: true });
if (!isOld) keep({ type: 'session', id, cwd: process.cwd() });
if (values.talk) await talk();
const last = entries().at(-1);
const deferred = last?.type === 'deferred' ? last : null;
emit({ type: 'session', id, open_ask: deferred?.ask ?? null });
if (deferred !== null) working = work(deferred.items);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  switch (message.type) {
    case 'message':
      return take(message);
    case 'withdraw':
      return giveBack(queued.findIndex((each) => each.id === message.id));
    case 'answer':
      return message.id === open?.id ? open.settle(message) : undefined;
    case 'defer':
      return open?.settle({ verdict: 'defer' });
    case 'interrupt':
      return stop();
  }
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

/** With a person at a terminal; it never comes back from there. */
async function talk() {
  const typed = createInterface({ input: process.stdin, output: process.stdout, prompt: 'you> ' });
  process.stdout.write(`${sentence()}\n`);
  typed.prompt();
  for await (const text of typed) {
    if (text.trim() === '/exit') break;
    keep({ type: 'user', id: newId('typed'), text });
    keep({ type: 'assistant', text: `I heard "${quote(text)}".` });
    process.stdout.write(`I heard "${quote(text)}".\n`);
    typed.prompt();
  }
  process.exit(0);
}

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

function take(message) {
  queued.push(message);
  if (isOver) giveBack(0);
  else working ??= work([]);
}

function giveBack(index) {
  if (index >= 0) emit({ type: 'returned', id: queued.splice(index, 1)[0].id });
}

/** Does one action after the other; between two of them come the messages that arrived. */
async function work(items) {
  let rest = items;
  let end = { outcome: 'succeeded' };
  try {
    for (;;) {
      rest = [...queued.splice(0).flatMap(apply), ...rest];
      const item = rest.shift();
      if (item === undefined) break;
      end = (await act(item, rest)) ?? end;
      if (item.isReply || end.outcome === 'failed') replies += 1;
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
  isOver = true;
  while (queued.length > 0) giveBack(0);
  emit({ type: 'done', ...end, usage });
}

/** The actions of a message; the last one of a step ends a reply. */
function apply(message) {
  const isSteered = hasPrompt;
  hasPrompt = true;
  keep({ type: 'user', id: message.id, text: message.text, ...(isSteered ? { isSteered } : {}) });
  emit({ type: 'accepted', id: message.id });
  const script = [...message.text.matchAll(/\[\[([\s\S]*?)\]\]/g)].at(-1)?.[1];
  if (script === undefined && isSteered) {
    return [{ verb: 'say', rest: `I was told "${quote(message.text)}".`, isReply: true }];
  }
  return (script ?? 'echo').split(';;').flatMap((step) => {
    const actions = step.split(/\s\+\+\s/).map((action) => parse(action.trim()));
    return actions.map((item, index) => ({ ...item, isReply: index === actions.length - 1 }));
  });
}

function parse(action) {
  const colon = action.indexOf(':');
  if (colon < 0) return { verb: action, rest: '' };
  return { verb: action.slice(0, colon).trim(), rest: action.slice(colon + 1).trim() };
}

async function act(item, later) {
  const { verb, rest } = item;
  switch (verb) {
    case 'say':
      return say(rest);
    case 'echo':
    case '':
      return say(sentence());
    case 'ask':
      return question(item, later);
    case 'run':
      return tool({ name: 'shell', input: { command: rest } }, item, later, run);
    case 'write':
      return tool({ name: 'write', input: written(rest) }, item, later, write);
    case 'wait':
      await sleep(Math.min(Number(rest) || 0, WAIT_MILLISECONDS_MAX), null, stopped);
      return undefined;
    case 'until':
      return until(rest);
    case 'clock':
      return clock(rest);
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

/** What a person says to it; `defer` keeps the ask for the next process. */
async function ask(asked, item, later) {
  stopped.signal.throwIfAborted();
  emit({ type: 'asked', ask: asked });
  const answer = await new Promise((settle) => {
    open = { id: asked.id, settle };
    stopped.signal.addEventListener('abort', () => settle(null), { once: true });
  });
  open = null;
  if (answer?.verdict === 'defer') {
    const items = [{ ...item, askId: asked.id }, ...later];
    keep({ type: 'deferred', ask: asked.id, items });
  }
  emit({ type: 'ask_closed', id: asked.id });
  stopped.signal.throwIfAborted();
  if (answer.verdict !== 'defer') {
    const { verdict, answers, reason } = answer;
    keep({ type: 'answer', id: asked.id, verdict, answers, reason });
  }
  return answer;
}

async function question(item, later) {
  const [text, ...choices] = item.rest.split('|').map((each) => each.trim());
  const asked = {
    id: 'q1',
    text,
    choices: choices.map((label) => ({ label, description: '' })),
    isMultiple: false,
  };
  const answer = await ask(
    { id: item.askId ?? newId('ask'), kind: 'question', questions: [asked] },
    item,
    later,
  );
  if (answer.verdict === 'defer') return { outcome: 'deferred' };
  return say(
    answer.verdict === 'allow'
      ? `answered: ${Object.values(answer.answers).join(', ')}`
      : `not answered: ${answer.reason}`,
  );
}

async function tool(use, item, later, act) {
  const call = item.askId ?? newId('call');
  if (item.askId === undefined) {
    emit({ type: 'tool_start', id: call, ...use });
    keep({ type: 'call', id: call, ...use });
  }
  if (values['asks-leave'] || item.askId !== undefined) {
    const asked = { id: 'leave', text: leaveText(use), choices: [], isMultiple: false };
    const answer = await ask(
      { id: call, kind: 'decision', questions: [asked], tool: use },
      item,
      later,
    );
    if (answer.verdict === 'defer') return { outcome: 'deferred' };
    if (answer.verdict === 'deny') return finish(call, { output: `denied: ${answer.reason}` });
  }
  return act(use.input, call);
}

function leaveText({ name, input }) {
  return name === 'shell' ? `Run ${input.command}` : `Write ${input.path}`;
}

function finish(call, { output, exit_code = null }) {
  keep({ type: 'result', id: call, output, exit_code });
  emit({ type: 'tool_end', id: call, output, exit_code, is_error: exit_code !== 0 });
}

function say(text) {
  for (const delta of text.match(/\S+\s*/g) ?? []) emit({ type: 'delta', text: delta });
  keep({ type: 'assistant', text });
  emit({ type: 'said', text });
}

/** Writes for as long as it takes, and says the whole at the end, as a model's answer comes. */
async function clock(file) {
  const deadline = Date.now() + WAIT_MILLISECONDS_MAX;
  let text = '';
  while (!existsSync(resolve(file)) && Date.now() < deadline) {
    const delta = `${process.hrtime.bigint()} `;
    text += delta;
    emit({ type: 'delta', text: delta });
    await sleep(POLL_MILLISECONDS, null, stopped);
  }
  keep({ type: 'assistant', text });
  emit({ type: 'said', text });
}

/** The same proof of a resumed conversation that the model server gives, and what came since. */
function sentence() {
  const all = entries();
  const people = all.filter((entry) => entry.type === 'user');
  const assistants = all.filter((entry) => entry.type === 'assistant').length;
  const text =
    `I was sent ${people.length} user and ${assistants} assistant messages. ` +
    `The first said "${quote(people.at(0)?.text)}", the last said "${quote(people.at(-1)?.text)}".`;
  const live = all.flatMap((entry) => {
    if (entry.type === 'user') return entry.isSteered ? [`told "${quote(entry.text)}"`] : [];
    if (entry.type !== 'answer') return [];
    if (entry.verdict === 'deny') return [`denied "${entry.reason}"`];
    return [`allowed "${Object.values(entry.answers).join(', ')}"`];
  });
  return live.length === 0 ? text : `${text} At work I was ${live.join(', ')}.`;
}

function quote(text = '') {
  return text.trim().slice(0, 120);
}

function entries() {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}

function run({ command }, call) {
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
      finish(call, { output, exit_code: code });
      settle(undefined);
    });
  });
}

function written(rest) {
  const equals = rest.indexOf('=');
  return { path: resolve(rest.slice(0, equals).trim()), content: rest.slice(equals + 1) };
}

function write({ path: file, content }, call) {
  const change = existsSync(file) ? 'updated' : 'created';
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  finish(call, { output: '', exit_code: 0 });
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
