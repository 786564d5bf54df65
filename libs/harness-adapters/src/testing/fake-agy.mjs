#!/usr/bin/env node
/**
 * What is said of `agy`, as a program: its flags, its lines, and one database per conversation. It is
 * no proof of what `agy` does. Instead of a model it does what the script in its message says:
 *
 *   [[ say: hello ++ run: echo hi ;; write: a.txt=text ;; echo ]]   error: 429   error: 529x1
 *
 * A step (between `;;`) is one reply. Ended by SIGINT or SIGTERM it ends its tools and leaves.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    'input-format': { type: 'string' },
    'output-format': { type: 'string' },
    'print-timeout': { type: 'string' },
    'dangerously-skip-permissions': { type: 'boolean' },
    'add-dir': { type: 'string', multiple: true },
    model: { type: 'string' },
    conversation: { type: 'string' },
  },
});
const directory = `${homedir()}/.gemini/antigravity-cli/conversations`;
const place = (id) => `${directory}/${id}.db`;
// An id that is not there begins a new conversation, without a word.
const id =
  values.conversation && existsSync(place(values.conversation))
    ? values.conversation
    : randomUUID();
mkdirSync(directory, { recursive: true });
const database = new DatabaseSync(place(id));
database.exec('create table if not exists steps (idx integer primary key, role text, text text)');

/** Tokens of one reply: `input_tokens` are those that were not cached. */
const REPLY = { input_tokens: 800, output_tokens: 50, cache_read_tokens: 200 };
const children = new Set();
let index = 0;
let replies = 0;
let isStopped = false;

const emit = (event, body) =>
  process.stdout.write(
    `${JSON.stringify({ event, conversation_id: id, [event]: { conversation_id: id, ...body } })}\n`,
  );
const step = (body) => emit('step_update', { step_index: index, ...body });
const keep = (role, text) =>
  database.prepare('insert into steps (role, text) values (?, ?)').run(role, text);
const usage = () =>
  Object.fromEntries(Object.entries(REPLY).map(([name, amount]) => [name, amount * replies]));
const over = (body) => emit('result', { num_turns: 1, usage: usage(), ...body });

emit('init', { cwd: process.cwd(), permission_mode: 'always-proceed' });
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
let working = Promise.resolve();
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { event, message } = JSON.parse(line);
    if (event === 'user') working = working.then(() => turn(message.content));
  })
  .on('close', () => void working.then(() => process.exit(0)));

function stop() {
  isStopped = true;
  for (const child of children) process.kill(-child.pid, 'SIGKILL');
  process.exit(130);
}

async function turn(text) {
  if (text.trim() === '') return over({ status: 'ERROR', error: 'the message is empty' });
  keep('user', text);
  step({ step_type: 'user_input', state: 'DONE' });
  const script = [...text.matchAll(/\[\[([\s\S]*?)\]\]/g)].at(-1)?.[1] ?? 'echo';
  let response = '';
  for (const part of script.split(';;')) {
    for (const action of part.split(/\s\+\+\s/)) {
      index += 1;
      const [, verb, rest = ''] = /^\s*(\w+)(?::\s*([\s\S]*?))?\s*$/.exec(action) ?? [];
      const failure = await act(verb, rest, (said) => (response = said));
      if (isStopped) return;
      if (failure) return over({ status: 'ERROR', error: failure, response });
    }
    replies += 1;
  }
  over({ status: 'SUCCESS', response: `${response}\n` });
}

/** Gives why the turn failed, if it did. */
async function act(verb, rest, onSaid) {
  switch (verb) {
    case 'say':
      return say(rest, onSaid);
    case 'echo':
      return say(sentence(), onSaid);
    case 'run':
      return tool('run_command', { CommandLine: rest }, () => run(rest));
    case 'write': {
      const [name, content] = rest.split('=');
      const TargetFile = resolve(name);
      return tool('write_to_file', { TargetFile }, () => {
        writeFileSync(TargetFile, content);
        return { output: '' };
      });
    }
    case 'error': {
      const [, status, times] = /^(\d{3})(?:x(\d+))?/.exec(rest) ?? [];
      return times === undefined ? `HTTP ${status}: scripted error` : undefined;
    }
    default:
      return `HTTP 400: unknown action "${verb}"`;
  }
}

function say(text, onSaid) {
  for (const text_delta of text.match(/\S+\s*/g) ?? [])
    step({ step_type: 'agent_response', state: 'ACTIVE', text_delta });
  step({ step_type: 'agent_response', state: 'DONE', text_delta: '\n' });
  keep('agent', text);
  onSaid(text);
}

async function tool(name, parameters, work) {
  const told = { step_type: 'tool', tool_name: name };
  step({ ...told, state: 'ACTIVE', tool_info: { name, parameters } });
  const { output, error } = await work();
  keep('tool', output);
  step({
    ...told,
    state: error === undefined ? 'DONE' : 'ERROR',
    tool_info: { name, parameters, output, ...(error === undefined ? {} : { error }) },
  });
}

function run(command) {
  return new Promise((settle) => {
    const child = spawn('/bin/sh', ['-c', command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    children.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += chunk));
    child.on('close', (code) => {
      children.delete(child);
      settle(code === 0 ? { output } : { output, error: `exit status ${code ?? 1}` });
    });
  });
}

function sentence() {
  const of = (role) =>
    database.prepare('select text from steps where role = ? order by idx').all(role);
  const people = of('user');
  const quote = (text) => text.trim().slice(0, 200);
  return (
    `I was sent ${people.length} user and ${of('agent').length} assistant messages. ` +
    `The first said "${quote(people.at(0).text)}", the last said "${quote(people.at(-1).text)}".`
  );
}
