import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { joinPath, parentOf, toFs } from './byte-path.ts';
import { IndexTable, type ObjectFormat } from './index-table.ts';
import { readIfThere } from './repository.ts';

/**
 * What earlier captures have seen, left in HOME beside the index's entries of that time: which tracked
 * files are usual (one link, and a mode of 644 or 755), which git does not tell, and which directories
 * hold nothing but what the index has there. To look at tens of thousands of names again is dear. A
 * chmod and a link change a file's ctime, a name that comes or goes changes its directory's: while
 * these are the same, what was seen holds. Without it, or with one that is damaged or of another
 * place, everything is looked at.
 */

const MAGIC = Buffer.from('HGK1');
/** More is not kept beside the index itself. */
const BYTES_MAX = 32 * 1024 * 1024;

export class KnownFiles {
  /** By entry: 1 where the file is usual unless git finds it changed. */
  readonly usual: Uint8Array;
  /** By directory: the ctime (ms) with which it held what the index has, and nothing else; or 0. */
  readonly whole: Float64Array;
  readonly #file: string;
  readonly #head: Buffer;
  readonly #entries: Buffer;
  readonly #before: Buffer | null;

  constructor(
    place: { home: string; work: string; format: ObjectFormat },
    table: IndexTable,
    directories: number,
  ) {
    const { home, work, format } = place;
    this.#file = joinPath(home, '.hangar/known-files');
    const hash = createHash('sha256').update(`${format} ${work}`, 'latin1').digest();
    this.#head = Buffer.concat([MAGIC, hash]);
    this.#entries = table.bytes.subarray(0, table.end);
    this.usual = new Uint8Array(table.count);
    this.whole = new Float64Array(directories);
    const file = readIfThere(this.#file);
    const isOurs = file?.subarray(0, this.#head.length).equals(this.#head) ?? false;
    this.#before = isOurs ? file!.subarray(this.#head.length) : null;
    if (this.#before) this.#learn(this.#before, format, table);
  }

  /** Behind the entries as they were: a byte for each, and a time for each directory. */
  #learn(before: Buffer, format: ObjectFormat, table: IndexTable): void {
    try {
      const isSame = before.subarray(0, this.#entries.length).equals(this.#entries);
      const old = isSame ? table : new IndexTable(before, format);
      const times = old.end + old.count;
      if (old.isLike(table) && before.length === times + this.whole.byteLength) {
        Buffer.from(this.whole.buffer).set(before.subarray(times));
      }
      const seen = before.subarray(old.end, times);
      let at = 0;
      for (let number = 0; number < table.count; number++) {
        if (!isSame && !table.isSame(number, old, at)) at = old.lowerBound(table.path(number), at);
        if (isSame || table.isSame(number, old, at)) this.usual[number] = seen[at++]!;
      }
    } catch {
      // Not what it should be, so nothing is known.
      this.usual.fill(0);
      this.whole.fill(0);
    }
  }

  /** Leaves what is known now for the next capture; it does without when this cannot be. */
  save(): void {
    const seen = [this.#entries, this.usual, new Uint8Array(this.whole.buffer)];
    const bytes = seen.reduce((sum, part) => sum + part.length, 0);
    if (bytes > BYTES_MAX || this.#isLeft(seen, bytes)) return;
    const temporary = toFs(`${this.#file}.new`);
    try {
      mkdirSync(toFs(parentOf(this.#file)), { recursive: true });
      writeFileSync(temporary, Buffer.concat([this.#head, ...seen]), { mode: 0o600 });
      renameSync(temporary, toFs(this.#file));
    } catch {
      // The next capture looks at everything again.
    }
  }

  /** Whether the same is there already. */
  #isLeft(seen: readonly Uint8Array[], bytes: number): boolean {
    const before = this.#before;
    if (before?.length !== bytes) return false;
    let at = 0;
    return seen.every((part) => before.subarray(at, (at += part.length)).equals(part));
  }
}
