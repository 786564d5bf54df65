/**
 * hangar's part of a turn with Gemini CLI: `node turn.mjs <conversation id> <program> <argument>...`
 *
 * Gemini CLI takes its prompt as the whole of stdin, has no interrupt, and leaves its tools running
 * when a signal ends it. So this reads lines of JSON (`prompt`, `interrupt`) and passes Gemini's
 * own lines on, with what they lack: the exit code of a command (`exit_code`), the repeats of a
 * request (`hangar.retry`) and how it left (`hangar.exit`).
 */
import { spawn } from 'node:child_process';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { descendants, end, guard, list } from './processes.mjs';

const [conversationId, program, ...argv] = process.argv.slice(2);

/** End of Gemini's stderr that is passed on when it leaves, in characters. */
const STDERR_CHARACTERS_MAX = 4_000;
/** How long a command's exit code is looked for in the conversation: 25 times 20 ms. */
const EXIT_CODE_TRIES = 25;
const EXIT_CODE_MILLISECONDS = 20;
/** From the polite end to the certain one. */
const KILL_MILLISECONDS = 3_000;
const RETRYING = /^Attempt (\d+) failed.* Retrying /;
const SHELL = 'run_shell_command';

let child = null;
let isStopped = false;
let stderr = '';

const say = (line) => process.stdout.write(`${line}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { type, text } = JSON.parse(line);
    if (type === 'prompt') start(text);
    else if (type === 'interrupt') stop();
  })
  .on('close', () => {
    if (child === null) process.exit(0);
  });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

function start(text) {
  // Refused here: a resume without a message empties the conversation.
  if (text.trim() === '') return left({ code: 42, signal: null, stderr: 'the message is empty' });
  child = spawn(program, argv, { stdio: ['pipe', 'pipe', 'pipe'] });
  guard(child);
  child.on('error', (error) => (stderr += String(error)));
  child.stdin.on('error', () => undefined);
  child.stdin.end(text);
  createInterface({ input: child.stderr }).on('line', (line) => {
    stderr = `${stderr}${line}\n`.slice(-STDERR_CHARACTERS_MAX);
    const attempt = RETRYING.exec(line)?.[1];
    if (attempt === undefined) return;
    say(JSON.stringify({ type: 'hangar.retry', attempt: Number(attempt), reason: line }));
  });
  const done = passOn(createInterface({ input: child.stdout }));
  child.on('close', (code, signal) => void done.then(() => tidyAndLeave({ code, signal, stderr })));
}

function tidyAndLeave(exit) {
  for (const path of conversationFiles()) tidy(path);
  left(exit);
}

function left({ code, signal, stderr }) {
  say(JSON.stringify({ type: 'hangar.exit', code, signal, isStopped, stderr }));
  process.stdout.write('', () => process.exit(code ?? 1));
}

async function passOn(lines) {
  /** By call id: how much of each conversation file was there when the command began. */
  const begun = new Map();
  for await (const line of lines) {
    const json = parse(line);
    if (json?.type === 'tool_use' && json.tool_name === SHELL) begun.set(json.tool_id, sizes());
    const from = json?.type === 'tool_result' ? begun.get(json.tool_id) : undefined;
    const exitCode =
      from && json.status === 'success' ? await exitCodeOf(json.tool_id, from) : null;
    say(exitCode === null ? line : JSON.stringify({ ...json, exit_code: exitCode }));
  }
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Its lines do not say how a command ended; the conversation does, a little later. */
async function exitCodeOf(id, from) {
  for (let tries = 0; tries < EXIT_CODE_TRIES; tries += 1) {
    for (const path of conversationFiles()) {
      const text = readFileSync(path)
        .subarray(from.get(path) ?? 0)
        .toString();
      const output = text.includes(id) ? outputOf(id, text) : null;
      if (output !== null)
        return Number(
          output
            .match(/\nExit Code: (\d+)/g)
            ?.at(-1)
            ?.slice(12) ?? 0,
        );
    }
    await new Promise((resolve) => setTimeout(resolve, EXIT_CODE_MILLISECONDS));
  }
  return null;
}

function outputOf(id, text) {
  for (const line of text.split('\n')) {
    const call = parse(line)?.toolCalls?.find((each) => each.id === id);
    const output = call?.result?.[0]?.functionResponse?.response?.output;
    if (typeof output === 'string') return output;
  }
  return null;
}

const sizes = () => new Map(conversationFiles().map((path) => [path, statSync(path).size]));

function conversationFiles() {
  const suffix = `-${conversationId.slice(0, 8)}.jsonl`;
  const root = join(homedir(), '.gemini', 'tmp');
  return list(root)
    .map((slug) => join(root, slug, 'chats'))
    .flatMap((chats) => list(chats).map((name) => join(chats, name)))
    .filter((path) => path.endsWith(suffix));
}

/**
 * What Gemini CLI leaves that harms the next resume: a file of the same id with nothing in it; an
 * empty list of messages, where a request failed or a resume came in the minute of the first
 * start; and every tool result twice, in its call and as a message, of which it would send both.
 */
function tidy(path) {
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('{"id":'));
  if (first < 0) return rmSync(path, { force: true });
  const filled = lines.filter((line, index) => index < first || !isEmptying(line));
  const kept = withoutRepeats(filled);
  if (kept.length === lines.length && kept.every((line, index) => line === lines[index])) return;
  writeFileSync(`${path}.new`, kept.join('\n'));
  renameSync(`${path}.new`, path);
}

/**
 * A result stands in its call (`toolCalls`), in the calls beside it, and in a message: the first
 * of all is kept.
 */
function withoutRepeats(lines) {
  let answered = new Set();
  const isFirst = ({ functionResponse }) => {
    if (functionResponse === undefined) return true;
    if (answered.has(functionResponse.id)) return false;
    return answered.add(functionResponse.id);
  };
  const withOwn = (call) => {
    const own = (part) => (part.functionResponse?.id ?? call.id) === call.id && isFirst(part);
    return Array.isArray(call.result) ? { ...call, result: call.result.filter(own) } : call;
  };
  const mended = (message) => {
    if (message.toolCalls) return [{ ...message, toolCalls: message.toolCalls.map(withOwn) }];
    if (message.type !== 'user' || !Array.isArray(message.content)) return [message];
    const content = message.content.filter(isFirst);
    return content.length === 0 ? [] : [{ ...message, content }];
  };
  return lines.flatMap((line) => {
    const json = parse(line);
    if (json === null) return [line];
    const messages = json.$set?.messages;
    // From such a line on the conversation is its list; a record of a call is written twice.
    if (Array.isArray(messages) || json.toolCalls) answered = new Set();
    const kept = Array.isArray(messages)
      ? [{ ...json, $set: { ...json.$set, messages: messages.flatMap(mended) } }]
      : mended(json);
    return kept.map((each) => JSON.stringify(each));
  });
}

function isEmptying(line) {
  const messages = line.startsWith('{"$set":{"messages"') ? parse(line)?.$set.messages : undefined;
  return (
    messages?.every(({ content }) => content?.[0]?.text?.startsWith('<session_context>')) === true
  );
}

function stop() {
  if (isStopped) return;
  isStopped = true;
  if (child === null) process.exit(0);
  const tools = descendants(child.pid);
  const force = setTimeout(() => child.kill('SIGKILL'), KILL_MILLISECONDS);
  child.on('exit', () => {
    clearTimeout(force);
    for (const pid of tools) end(pid);
  });
  child.kill('SIGTERM');
}
