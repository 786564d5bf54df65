/** What the bridges of harnesses share: no process of a turn is left behind. */
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

/** A bridge that is killed takes its harness along: a second one would write the same files. */
export function guard(child) {
  const argv = ['-c', 'read -r line; kill -9 "$0"', String(child.pid)];
  const options = { stdio: ['pipe', 'ignore', 'ignore'], detached: true };
  const watcher = spawn('/bin/sh', argv, options);
  watcher.on('error', () => undefined);
  child.on('exit', () => watcher.kill('SIGKILL'));
}

/** Tools are in sessions of their own: no signal to a group reaches them. */
export function descendants(root) {
  const children = new Map();
  for (const pid of list('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(pid);
    children.set(parent, [...(children.get(parent) ?? []), Number(pid)]);
  }
  const found = [...(children.get(root) ?? [])];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

export function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Names in a directory; none when it is not there. */
export function list(directory) {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function parentOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
