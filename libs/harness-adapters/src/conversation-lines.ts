/**
 * Conversation files are lines of JSON. This reads one whole, and mends a chain of entries in
 * which each names its parent: lines that cannot be read are dropped and the entries behind a
 * gap are tied to the last entry before it, so that the model sees both sides again.
 */
import type { Json } from './json-line.ts';
import { parseJson } from './json-line.ts';

export interface ConversationLine {
  text: string;
  /** null when the line is not a JSON object. */
  json: Json | null;
}

export interface ConversationText {
  lines: ConversationLine[];
  /** The last line has no newline: what is appended next would be glued to it. */
  isUnfinished: boolean;
}

export function readLines(bytes: Uint8Array): ConversationText {
  const text = new TextDecoder('utf-8').decode(bytes);
  const parts = text.split('\n');
  const last = parts.pop() ?? '';
  const lines = parts.filter((part) => part.trim() !== '').map(lineOf);
  if (last !== '') lines.push(lineOf(last));
  return { lines, isUnfinished: last !== '' };
}

function lineOf(text: string): ConversationLine {
  return { text, json: parseJson(text) };
}

/** The lines that can be read. */
export function objectsOf(lines: ConversationLine[]): Json[] {
  return lines.flatMap(({ json }) => (json === null ? [] : [json]));
}

export function writeLines(lines: ConversationLine[]): Uint8Array {
  return new TextEncoder().encode(lines.map(({ text }) => `${text}\n`).join(''));
}

/** How one harness links its entries. */
export interface ChainShape {
  id(json: Json): string | null;
  parent(json: Json): string | null;
  withParent(json: Json, parent: string | null): Json;
  /** Ids of the tool calls an entry makes, and of those it answers. */
  calls(json: Json): string[];
  answers(json: Json): string[];
  /** Entries of another chain in the same file (a subagent's) are tied among themselves. */
  chain(json: Json): string;
}

export interface MendedChain {
  lines: ConversationLine[];
  /** Lines that could not be read. */
  unreadable: number;
  /** Answers dropped because the call they answer is gone: a provider refuses those. */
  orphans: number;
  relinked: number;
}

export function mendChain(lines: ConversationLine[], shape: ChainShape): MendedChain {
  const known = new Set(objectsOf(lines).map((json) => shape.id(json)));
  const calls = new Set(objectsOf(lines).flatMap((json) => shape.calls(json)));
  const previous = new Map<string, string>();
  /** A dropped entry's id, and the entry that takes its place as a parent. */
  const replaced = new Map<string, string | null>();
  const mended: MendedChain = { lines: [], unreadable: 0, orphans: 0, relinked: 0 };
  for (const line of lines) {
    const { json } = line;
    if (json === null) {
      mended.unreadable += 1;
      continue;
    }
    const id = shape.id(json);
    if (id === null) {
      mended.lines.push(line);
      continue;
    }
    const chain = shape.chain(json);
    const named = shape.parent(json);
    const before = previous.get(chain) ?? null;
    const parent = parentOf(named, { known, replaced, before });
    if (shape.answers(json).some((call) => !calls.has(call))) {
      mended.orphans += 1;
      replaced.set(id, parent);
      continue;
    }
    if (parent !== named) mended.relinked += 1;
    mended.lines.push(parent === named ? line : relinked(json, parent, shape));
    previous.set(chain, id);
  }
  return mended;
}

function parentOf(
  named: string | null,
  chain: { known: Set<string | null>; replaced: Map<string, string | null>; before: string | null },
): string | null {
  if (named === null) return null;
  const instead = chain.replaced.get(named);
  if (instead !== undefined) return instead;
  return chain.known.has(named) ? named : chain.before;
}

function relinked(json: Json, parent: string | null, shape: ChainShape): ConversationLine {
  const changed = shape.withParent(json, parent);
  return { text: JSON.stringify(changed), json: changed };
}

/** What a repair gives up, for a person. */
export function lostWords(mended: MendedChain, isUnfinished: boolean): string {
  const parts: string[] = [];
  if (mended.unreadable > 0) parts.push(`${count(mended.unreadable, 'line')} that cannot be read`);
  if (mended.orphans > 0) parts.push(`${count(mended.orphans, 'tool result')} without its call`);
  if (parts.length > 0) return parts.join(' and ');
  if (mended.relinked > 0) return `nothing; ${count(mended.relinked, 'broken link')} tied again`;
  return isUnfinished ? 'nothing; the last line was not finished' : 'nothing';
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

export function isWhole(mended: MendedChain, isUnfinished: boolean): boolean {
  return mended.unreadable + mended.orphans + mended.relinked === 0 && !isUnfinished;
}
