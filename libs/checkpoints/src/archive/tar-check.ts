import { ArchiveRefused } from './archive-refused.ts';
import {
  BLOCK_BYTES,
  EXTENDED_BYTES_MAX,
  parseHeader,
  parsePax,
  type RawHeader,
  type TarEntry,
  type TarKind,
} from './tar-headers.ts';

/**
 * The header check of R10: every header of a part is read before anything of it is written. Streams
 * with bounded memory, except for the names seen, which `entriesMax` bounds.
 */
export interface TarRules {
  /** Names must be one of these or below one; none means any name inside the root. */
  prefixes?: readonly string[];
  /** `.git` components are allowed (nested repositories), but never the checkout's own files. */
  gitAllowed?: boolean;
  unpackedBytesMax: number;
  entriesMax?: number;
}

/** Names that are remembered; 1 million need about 200 MB. */
const ENTRIES_MAX = 1_000_000;
/** A sparse file may be so many times longer than the cap on stored bytes. */
const SPARSE_FACTOR = 64;

const KINDS: Record<string, TarKind> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hard_link',
  '2': 'link',
  '5': 'directory',
};

export interface TarSummary {
  entries: number;
  unpackedBytes: number;
}

/** Reads uncompressed tar bytes to their end. Throws ArchiveRefused at the first bad header. */
export async function checkTar(
  source: AsyncIterable<Uint8Array>,
  rules: TarRules,
  onEntry?: (entry: TarEntry) => void,
): Promise<TarSummary> {
  const checker = new TarChecker(rules, onEntry);
  for await (const chunk of source) checker.write(Buffer.from(chunk));
  return checker.end();
}

class TarChecker {
  readonly #rules: TarRules;
  readonly #onEntry: ((entry: TarEntry) => void) | undefined;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current entry's body and padding still to come. */
  #skip = 0;
  #extended: { type: string; size: number } | null = null;
  #pax = new Map<string, string>();
  #longName: string | null = null;
  #longLink: string | null = null;
  #ended = false;
  #links = new Set<string>();
  #files = new Set<string>();
  #summary: TarSummary = { entries: 0, unpackedBytes: 0 };

  constructor(rules: TarRules, onEntry: ((entry: TarEntry) => void) | undefined) {
    this.#rules = rules;
    this.#onEntry = onEntry;
  }

  write(chunk: Buffer): void {
    let data = chunk;
    if (this.#skip > 0 && this.#rest.length === 0) {
      const passed = Math.min(this.#skip, data.length);
      this.#skip -= passed;
      data = data.subarray(passed);
    }
    if (data.length === 0) return;
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    while (this.#step());
  }

  end(): TarSummary {
    if (!this.#ended || this.#skip > 0 || this.#rest.length > 0) {
      throw new ArchiveRefused('corrupt', 'the archive is truncated');
    }
    return this.#summary;
  }

  /** Takes one thing from the buffer; false when more bytes are needed. */
  #step(): boolean {
    if (this.#skip > 0) {
      const passed = Math.min(this.#skip, this.#rest.length);
      this.#skip -= passed;
      this.#rest = this.#rest.subarray(passed);
      return passed > 0;
    }
    if (this.#extended) return this.#takeExtended(this.#extended);
    if (this.#rest.length < BLOCK_BYTES) return false;
    const header = parseHeader(this.#rest.subarray(0, BLOCK_BYTES));
    this.#rest = this.#rest.subarray(BLOCK_BYTES);
    if (header === null) this.#ended = true;
    else if (this.#ended) {
      throw new ArchiveRefused('refused', 'the archive goes on after its end');
    } else this.#take(header);
    return true;
  }

  #takeExtended(extended: { type: string; size: number }): boolean {
    const padded = extended.size + padding(extended.size);
    if (this.#rest.length < padded) return false;
    const body = this.#rest.subarray(0, extended.size);
    this.#rest = this.#rest.subarray(padded);
    this.#extended = null;
    if (extended.type === 'x') this.#pax = parsePax(body);
    else {
      const end = body.indexOf(0);
      const name = body.toString('latin1', 0, end < 0 ? body.length : end);
      if (extended.type === 'L') this.#longName = name;
      else this.#longLink = name;
    }
    return true;
  }

  #take(header: RawHeader): void {
    const { type } = header;
    if (type === 'x' || type === 'L' || type === 'K') {
      if (header.size > EXTENDED_BYTES_MAX) {
        throw new ArchiveRefused('refused', 'an extended header is too large');
      }
      this.#extended = { type, size: header.size };
      return;
    }
    const kind = KINDS[type];
    if (kind === undefined) {
      const name = this.#pax.get('path') ?? this.#longName ?? header.name;
      throw new ArchiveRefused('refused', `entries of type "${type}" are not allowed: ${name}`);
    }
    const entry = this.#describe(header, kind);
    this.#pax = new Map();
    this.#longName = null;
    this.#longLink = null;
    this.#judge(entry);
    this.#count(entry);
    const stored = kind === 'file' ? entry.bytes : 0;
    this.#skip = stored + padding(stored);
    this.#onEntry?.(entry);
  }

  #describe(header: RawHeader, kind: TarKind): TarEntry {
    const pax = this.#pax;
    const size = paxNumber(pax, 'size') ?? header.size;
    if (kind !== 'file' && size !== 0) {
      throw new ArchiveRefused('refused', `only files may have content: ${header.name}`);
    }
    const sparse = [...pax.keys()].some((key) => key.startsWith('GNU.sparse.'));
    if (sparse && pax.get('GNU.sparse.major') !== '1') {
      throw new ArchiveRefused('refused', 'only the newest form of sparse files is allowed');
    }
    const rawName = pax.get('GNU.sparse.name') ?? pax.get('path') ?? this.#longName ?? header.name;
    return {
      path: this.#cleanName(rawName, 'name'),
      kind,
      mode: header.mode,
      bytes: size,
      length: paxNumber(pax, 'GNU.sparse.realsize') ?? size,
      target: pax.get('linkpath') ?? this.#longLink ?? header.link,
    };
  }

  #cleanName(name: string, what: string): string {
    if (name === '' || name.includes('\0')) {
      throw new ArchiveRefused('refused', `an empty ${what}, or one with a zero byte`);
    }
    if (name.startsWith('/')) throw new ArchiveRefused('refused', `absolute ${what}: ${name}`);
    const parts = name.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.includes('..')) throw new ArchiveRefused('refused', `".." in a ${what}: ${name}`);
    this.#checkGit(parts, name);
    const path = parts.join('/');
    const { prefixes } = this.#rules;
    if (prefixes && !prefixes.some((one) => path === one || path.startsWith(`${one}/`))) {
      throw new ArchiveRefused('refused', `outside the allowed directories: ${name}`);
    }
    return path;
  }

  #checkGit(parts: string[], name: string): void {
    if (!parts.includes('.git')) return;
    const own = parts[0] === '.git';
    const inside = parts[1] === 'modules' || parts[1] === 'worktrees';
    if (this.#rules.gitAllowed && (!own || inside || parts.length === 1)) return;
    throw new ArchiveRefused('refused', `".git" in a name: ${name}`);
  }

  #judge(entry: TarEntry): void {
    const { path, kind } = entry;
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      if (this.#links.has(path.slice(0, at))) {
        throw new ArchiveRefused('refused', `goes through a link: ${path}`);
      }
    }
    if (this.#links.has(path) && kind !== 'link') {
      throw new ArchiveRefused('refused', `writes over a link: ${path}`);
    }
    if (path === '.git' && kind !== 'directory') {
      throw new ArchiveRefused('refused', `".git" may only be a directory: ${path}`);
    }
    if (kind === 'link') this.#links.add(path);
    if (kind === 'file') this.#files.add(path);
    if (kind !== 'hard_link') return;
    const target = this.#cleanName(entry.target, 'hard link target');
    if (this.#links.has(target) || !this.#files.has(target)) {
      throw new ArchiveRefused('refused', `hard link to something that is not in it: ${path}`);
    }
    entry.target = target;
    this.#files.add(path);
  }

  #count(entry: TarEntry): void {
    const { unpackedBytesMax, entriesMax = ENTRIES_MAX } = this.#rules;
    this.#summary.entries++;
    this.#summary.unpackedBytes += entry.bytes;
    const tooLong = entry.length > unpackedBytesMax * SPARSE_FACTOR;
    if (this.#summary.unpackedBytes > unpackedBytesMax || tooLong) {
      throw new ArchiveRefused('refused', 'unpacks to more bytes than the cap');
    }
    if (this.#summary.entries > entriesMax) {
      throw new ArchiveRefused('refused', 'has more entries than the cap');
    }
  }
}

const padding = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

function paxNumber(pax: Map<string, string>, key: string): number | undefined {
  const value = pax.get(key);
  if (value === undefined) return undefined;
  const size = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(size)) {
    throw new ArchiveRefused('refused', `a size in a pax header is impossible: ${value}`);
  }
  return size;
}
