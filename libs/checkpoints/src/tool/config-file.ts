import { readFileSync } from 'node:fs';
import { toBytes, toFs } from './byte-path.ts';

/**
 * git's configuration files, parsed and written here so that no git process reads a configuration
 * that the checkout controls (git-config, "Syntax").
 */

export interface ConfigEntry {
  /** `section.name` or `section.subsection.name`; section and name in lower case. */
  key: string;
  /** null for a name without `=`, which git reads as true. */
  value: string | null;
}

/** A bigger configuration file is not read; git's own are a few KB. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024;

export interface ParsedConfig {
  entries: ConfigEntry[];
  /** The file has a line git would refuse; the entries before it are there. */
  broken: boolean;
}

export function readConfig(path: string): ParsedConfig {
  let text: string;
  try {
    const bytes = readFileSync(toFs(path));
    if (bytes.length > CONFIG_BYTES_MAX) return { entries: [], broken: true };
    text = bytes.toString('latin1');
  } catch {
    return { entries: [], broken: false };
  }
  return parseConfig(text);
}

const SECTION = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]/;
const NAME = /^([A-Za-z][A-Za-z0-9-]*)[ \t]*/;

export function parseConfig(text: string): ParsedConfig {
  const entries: ConfigEntry[] = [];
  let rest = text.startsWith('\u00ef\u00bb\u00bf') ? text.slice(3) : text;
  rest = rest.replaceAll('\r\n', '\n');
  let prefix: string | null = null;
  for (;;) {
    rest = rest.replace(/^[\s]+/, '');
    if (rest === '') return { entries, broken: false };
    if (rest[0] === '#' || rest[0] === ';') {
      rest = afterLine(rest);
      continue;
    }
    const section = SECTION.exec(rest);
    if (section) {
      const subsection = section[2]?.replace(/\\(.)/g, '$1');
      prefix = section[1]!.toLowerCase() + (subsection === undefined ? '' : `.${subsection}`);
      rest = rest.slice(section[0].length);
      continue;
    }
    const name = NAME.exec(rest);
    if (!name || prefix === null) return { entries, broken: true };
    rest = rest.slice(name[0].length);
    const key = `${prefix}.${name[1]!.toLowerCase()}`;
    if (rest[0] !== '=') {
      if (rest !== '' && !/^[\n#;]/.test(rest)) return { entries, broken: true };
      entries.push({ key, value: null });
      continue;
    }
    const value = parseValue(rest.slice(1));
    if (!value) return { entries, broken: true };
    entries.push({ key, value: value.text });
    rest = value.rest;
  }
}

const afterLine = (text: string): string => {
  const end = text.indexOf('\n');
  return end < 0 ? '' : text.slice(end + 1);
};

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\' };

/** One value up to its line's end: quotes, escapes, continuation lines, comments. */
function parseValue(text: string): { text: string; rest: string } | null {
  let value = '';
  let spaces = '';
  let quoted = false;
  let position = 0;
  for (; position < text.length; position++) {
    const character = text[position]!;
    if (character === '\n') break;
    if (!quoted && (character === ' ' || character === '\t')) {
      if (value !== '') spaces += character;
      continue;
    }
    if (!quoted && (character === '#' || character === ';')) {
      return { text: value, rest: afterLine(text.slice(position)) };
    }
    value += spaces;
    spaces = '';
    if (character === '"') {
      quoted = !quoted;
      continue;
    }
    if (character !== '\\') {
      value += character;
      continue;
    }
    const escaped = text[++position];
    if (escaped === '\n') continue;
    if (escaped === undefined || !(escaped in ESCAPES)) return null;
    value += ESCAPES[escaped];
  }
  if (quoted) return null;
  return { text: value, rest: text.slice(position + 1) };
}

/** Nothing in it that git would read as anything but itself. */
const PLAIN_VALUE = /^[^\s"\\#;](?:[^"\\#;\n\t\b]*[^\s"\\#;])?$/;

const quoteValue = (value: string): string => {
  if (PLAIN_VALUE.test(value)) return value;
  return `"${value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\b', '\\b')}"`;
};

/** Splits `section.sub.section.name`; the subsection may hold dots. */
export function splitKey(key: string): {
  section: string;
  subsection: string | null;
  name: string;
} {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  return {
    section: key.slice(0, first),
    subsection: first === last ? null : key.slice(first + 1, last),
    name: key.slice(last + 1),
  };
}

/** A file that git reads back as the same entries in the same order. */
export function serialiseConfig(entries: readonly ConfigEntry[]): Buffer {
  let text = '';
  let open = '';
  for (const entry of entries) {
    const { section, subsection, name } = splitKey(entry.key);
    const header =
      subsection === null
        ? `[${section}]`
        : `[${section} "${subsection.replace(/["\\]/g, '\\$&')}"]`;
    if (header !== open) text += `${header}\n`;
    open = header;
    text += entry.value === null ? `\t${name}\n` : `\t${name} = ${quoteValue(entry.value)}\n`;
  }
  return toBytes(text);
}

export const configValue = (entries: readonly ConfigEntry[], key: string): string | undefined => {
  const found = entries.findLast((entry) => entry.key === key);
  return found === undefined ? undefined : (found.value ?? 'true');
};
