import type {
  CaptureRequest,
  ChangesRequest,
  FingerprintRequest,
  RestoreRequest,
} from './contract.ts';
import { ToolError } from './tool-error.ts';

/** A request is a few KB; meta.json inside a restore request may list many parts and paths. */
export const REQUEST_BYTES_MAX = 64 * 1024 * 1024;

/** The requests by sub-command, checked for the shapes the tool relies on. */
export interface Requests {
  capture: CaptureRequest;
  restore: RestoreRequest;
  fingerprint: FingerprintRequest;
  changes: ChangesRequest;
}

type Kind = 'path' | 'text' | 'texts' | 'directories' | 'caps' | 'object' | 'boolean';

const FIELDS: Record<keyof Requests, Record<string, Kind>> = {
  capture: {
    checkpoint_id: 'text',
    session_id: 'text',
    reason: 'text',
    work: 'path',
    home: 'path',
    out: 'path',
    conversation_directories: 'directories',
    cwd: 'text',
    caps: 'caps',
    'base_branch?': 'text',
    'harness?': 'text',
    'harness_session?': 'text',
    'unless_fingerprint?': 'text',
    'known_base?': 'texts',
    'zstd?': 'boolean',
  },
  restore: {
    work: 'path',
    home: 'path',
    parts: 'path',
    meta: 'object',
    conversation_directories: 'directories',
    'remote?': 'boolean',
  },
  fingerprint: { work: 'path', home: 'path', conversation_directories: 'directories' },
  changes: { work: 'path', 'home?': 'path', 'base_branch?': 'text' },
};

const CAPS = ['part_bytes_max', 'untracked_bytes_max', 'file_bytes_max', 'unpacked_bytes_max'];

const isText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0');

const isDirectory = (value: unknown): boolean =>
  isText(value) && value !== '' && !value.startsWith('/') && !value.split('/').includes('..');

const CHECKS: Record<Kind, (value: unknown) => boolean> = {
  path: (value) => isText(value) && value.startsWith('/'),
  text: isText,
  texts: (value) => Array.isArray(value) && value.every(isText),
  directories: (value) => Array.isArray(value) && value.every(isDirectory),
  object: (value) => typeof value === 'object' && value !== null,
  boolean: (value) => typeof value === 'boolean',
  caps: (value) =>
    typeof value === 'object' &&
    value !== null &&
    CAPS.every((name) => Number((value as Record<string, unknown>)[name]) > 0),
};

/** Throws `invalid` naming the field. */
export function readRequest<K extends keyof Requests>(command: K, body: unknown): Requests[K] {
  if (typeof body !== 'object' || body === null) {
    throw new ToolError('invalid', 'the request is not an object');
  }
  const fields = body as Record<string, unknown>;
  for (const [field, kind] of Object.entries(FIELDS[command])) {
    const name = field.replace('?', '');
    const value = fields[name];
    const absent = value === undefined || value === null;
    if (absent ? field.endsWith('?') : CHECKS[kind](value)) continue;
    throw new ToolError('invalid', `${command}: ${name} is ${absent ? 'missing' : 'not valid'}`);
  }
  return body as Requests[K];
}
