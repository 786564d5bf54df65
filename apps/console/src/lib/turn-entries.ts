import type { ActivityItem } from '@hangar/contracts';

export interface ToolEntry {
  kind: 'tool';
  key: string;
  tool: string;
  /** The command, the path, or what else says what it is about. */
  about: string;
  input: string;
  output: string | null;
  state: 'running' | 'done' | 'failed';
  exitCode: number | null;
}

/** One row of a turn. */
export type Entry =
  | { kind: 'message'; key: string; text: string }
  | { kind: 'steered'; key: string; messageId: string }
  | { kind: 'files'; key: string; files: { path: string; change: string }[] }
  | { kind: 'notice'; key: string; text: string }
  | ToolEntry;

/** What the agent did in a turn, as rows: a call with its result, files that changed in a row as one. */
export function entriesOf(items: ActivityItem[], firstMessageId: string): Entry[] {
  const entries: Entry[] = [];
  const calls = new Map<string, ToolEntry>();
  for (const item of items) {
    const key = item.cursor;
    switch (item.type) {
      case 'message':
        entries.push({ kind: 'message', key, text: item.text ?? '' });
        break;
      case 'delivered':
        if (item.message_id && item.message_id !== firstMessageId)
          entries.push({ kind: 'steered', key, messageId: item.message_id });
        break;
      case 'tool_started': {
        const entry = startedTool(item);
        calls.set(item.call_id ?? key, entry);
        entries.push(entry);
        break;
      }
      case 'tool_finished':
        finishTool(calls.get(item.call_id ?? ''), item);
        break;
      case 'file_changed':
        addFile(entries, key, { path: item.path ?? '', change: item.change ?? 'changed' });
        break;
      case 'notice':
        entries.push({ kind: 'notice', key, text: item.text ?? '' });
        break;
      case 'retrying':
        entries.push({ kind: 'notice', key, text: `Tries again: ${item.reason ?? 'no answer'}` });
        break;
      case 'asked':
        entries.push({ kind: 'notice', key, text: `Asked: ${item.text ?? ''}` });
        break;
      default: // `ended` is told by the turn itself.
    }
  }
  return entries;
}

const startedTool = (item: ActivityItem): ToolEntry => ({
  kind: 'tool',
  key: item.cursor,
  tool: item.tool ?? 'tool',
  about: aboutOf(item.input ?? ''),
  input: item.input ?? '',
  output: null,
  state: 'running',
  exitCode: null,
});

function finishTool(entry: ToolEntry | undefined, item: ActivityItem): void {
  if (!entry) return;
  entry.output = item.output ?? '';
  entry.state = item.is_error ? 'failed' : 'done';
  entry.exitCode = item.exit_code ?? null;
}

function addFile(entries: Entry[], key: string, file: { path: string; change: string }): void {
  const last = entries.at(-1);
  if (last?.kind !== 'files') entries.push({ kind: 'files', key, files: [file] });
  else if (!last.files.some(({ path }) => path === file.path)) last.files.push(file);
}

/** Fields of a tool's input that say what it is about, the most telling first. */
const TELLING = ['command', 'cmd', 'file_path', 'path', 'pattern', 'query', 'url', 'description'];
const ABOUT_CHARACTERS_MAX = 200;

export function aboutOf(input: string): string {
  const about = tellingField(parsed(input)) ?? input;
  return about.replaceAll(/\s+/g, ' ').trim().slice(0, ABOUT_CHARACTERS_MAX);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // Cut to a bound, or not JSON at all.
  }
}

function tellingField(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  for (const name of TELLING) {
    const field = (value as Record<string, unknown>)[name];
    if (typeof field === 'string' && field !== '') return field;
    if (Array.isArray(field)) return field.join(' ');
  }
  return null;
}

/** `3 tool calls, 2 files changed`; empty when there was nothing but words. */
export function workText(entries: Entry[]): string {
  const tools = entries.filter(({ kind }) => kind === 'tool').length;
  const files = new Set(
    entries.flatMap((entry) => (entry.kind === 'files' ? entry.files.map(({ path }) => path) : [])),
  ).size;
  return [
    ...(tools > 0 ? [`${tools} tool call${tools === 1 ? '' : 's'}`] : []),
    ...(files > 0 ? [`${files} file${files === 1 ? '' : 's'} changed`] : []),
  ].join(', ');
}
