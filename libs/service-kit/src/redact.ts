import { HangarError } from '@hangar/contracts';
import { NEEDLE_CHARACTERS_MAX, NeedleAutomaton, type Found } from './needle-automaton.ts';
import { redactShapes } from './redact-shapes.ts';

export { redactShapes } from './redact-shapes.ts';

export interface KnownSecret {
  name: string;
  value: string;
}

/** Shorter values are left alone: they stand in every second word, and hiding them hides the text. */
export const REDACTED_CHARACTERS_MIN = 4;
/** A line of a value is hidden by itself from here on; `-----` and `{` would hide the text. */
const LINE_CHARACTERS_MIN = 8;
/** A shorter middle of a base64 text says too little, and stands in other texts too. */
const BASE64_MIDDLE_CHARACTERS_MIN = 8;

/** Hides secrets in a text. */
export interface Redactor {
  (text: string): string;
  /**
   * Where a text that goes on can be cut: what comes after may be the beginning of a known secret,
   * and is shorter than its longest form, but for whole secrets that overlap it.
   */
  safeCut(text: string): number;
}

/**
 * Hides secrets in text ([Z2]): the given values, also as base64 (alone or inside a longer base64
 * text), URL-encoded, JSON-escaped and line by line, and whatever looks like a token.
 * Each call is linear in the text, whatever is in it. Throws HangarError('exhausted') for secrets
 * that are too long together to be looked for.
 */
export function createRedactor(secrets: Iterable<KnownSecret>): Redactor {
  const names = new Map<string, string>();
  let characters = 0;
  for (const { name, value } of secrets) {
    for (const form of formsOf(value)) {
      if (names.has(form)) continue;
      names.set(form, name);
      characters += form.length;
      if (characters > NEEDLE_CHARACTERS_MAX) throw tooLong();
    }
  }
  if (names.size === 0)
    return Object.assign((text: string) => redactShapes(text), {
      safeCut: (text: string) => text.length,
    });
  const automaton = new NeedleAutomaton([...names.keys()]);
  const shown = [...names.values()].map((name) => `[redacted ${name}]`);
  return Object.assign(
    (text: string) => redactShapes(replaceFound(text, automaton.find(text), shown)),
    { safeCut: (text: string) => automaton.safeCut(text) },
  );
}

function replaceFound(text: string, found: readonly Found[], shown: readonly string[]): string {
  const parts: string[] = [];
  let copied = 0;
  for (const { start, end, needle } of found) {
    parts.push(text.slice(copied, start), shown[needle]!);
    copied = end;
  }
  return parts.join('') + text.slice(copied);
}

function tooLong(): HangarError {
  return new HangarError(
    'exhausted',
    'The secrets of this run are too long to be kept out of logs.',
    {
      hint: 'Keep large files out of secrets; about 200 KB together are possible.',
    },
  );
}

function formsOf(value: string): Set<string> {
  const forms = new Set<string>();
  const lines = value.split(/\r?\n/);
  addForms(forms, value);
  addForms(forms, value.trim());
  if (lines.length > 1) {
    for (const line of lines) {
      const bare = line.trim();
      if (bare.length >= LINE_CHARACTERS_MIN) addForms(forms, bare);
    }
  }
  for (const form of forms) if (form.length < REDACTED_CHARACTERS_MIN) forms.delete(form);
  return forms;
}

function addForms(forms: Set<string>, value: string): void {
  if (value.length < REDACTED_CHARACTERS_MIN) return;
  const json = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value.toWellFormed());
  forms.add(value);
  forms.add(json);
  forms.add(JSON.stringify(json).slice(1, -1));
  forms.add(json.replaceAll('/', '\\/'));
  forms.add(url);
  forms.add(url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  forms.add(url.replaceAll('%20', '+'));
  for (const form of base64Forms(Buffer.from(value))) forms.add(form);
}

/**
 * Base64 of the value alone, and what of it stays the same inside a longer base64 text, as in
 * `Authorization: Basic`, where a user name comes first: there are three ways it can be aligned.
 */
function base64Forms(bytes: Buffer): string[] {
  const whole = bytes.toString('base64');
  const forms = [whole, whole.replace(/=+$/, '')];
  for (let before = 0; before < 3; before += 1) {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.byteLength) * 8) / 6);
    if (last - first >= BASE64_MIDDLE_CHARACTERS_MIN) forms.push(text.slice(first, last));
  }
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}
