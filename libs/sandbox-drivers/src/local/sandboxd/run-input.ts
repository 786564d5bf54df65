import { constants } from 'node:fs';
import { open, readFile, truncate, writeFile, type FileHandle } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { FRAME_DATA_BYTES_MAX } from '../wire/frames.ts';
import { openFifoWriter } from './fifo.ts';
import { OperationError } from './operation-error.ts';
import type { RunDirectory } from './run-directory.ts';

/** Bytes that wait for a run which does not read; past it `input` is refused. */
const BACKLOG_BYTES_MAX = 32 * 1024 * 1024;
/** How often it is looked whether the run has opened its stdin yet. */
const OPEN_RETRY_MS = 5;

interface Entry {
  key: string;
  bytes: Buffer;
  eof: boolean;
}

/**
 * What is said to a run. An entry is on disk before `add` answers and each key is there once, so
 * a caller may say everything again; bytes then go into the FIFO as fast as the run reads them.
 */
export class RunInput {
  private readonly directory: RunDirectory;
  private readonly journal: string;
  private readonly keys = new Set<string>();
  private readonly queue: Entry[] = [];
  private backlogBytes = 0;
  private deliveredBytes = 0;
  private adding: Promise<unknown> = Promise.resolve();
  private pumping = false;
  private closed = false;
  private finished = false;
  private pipe: Socket | undefined;
  private hold: FileHandle | undefined;

  constructor(directory: RunDirectory) {
    this.directory = directory;
    this.journal = join(directory.path, 'inputs');
  }

  /** Opens what must stay open until the end, and takes over what an earlier sandboxd left. */
  async open(): Promise<void> {
    this.hold = await open(this.directory.hold, constants.O_RDWR | constants.O_NONBLOCK);
    const bytes = await readFile(this.journal).catch(() => Buffer.alloc(0));
    const { entries, validBytes } = parseJournal(bytes);
    if (validBytes < bytes.length) await truncate(this.journal, validBytes);
    const position = await readFile(`${this.journal}.position`, 'utf8').catch(() => '0');
    this.deliveredBytes = Number(position);
    let skip = this.deliveredBytes;
    for (const entry of entries) {
      this.keys.add(entry.key);
      const skipped = Math.min(skip, entry.bytes.length);
      skip -= skipped;
      this.enqueue({ ...entry, bytes: entry.bytes.subarray(skipped) });
    }
    void this.pump();
  }

  /** Appends once per key. Calls are taken one after the other. */
  add(key: string, bytes: Buffer, eof: boolean): Promise<void> {
    const added = this.adding.then(() => this.append({ key, bytes, eof }));
    this.adding = added.catch(() => undefined);
    return added;
  }

  /** The run has ended: nothing can be said to it any more. */
  async close(): Promise<void> {
    this.closed = true;
    this.pipe?.destroy();
    await this.hold?.close();
    this.hold = undefined;
  }

  private async append(entry: Entry): Promise<void> {
    if (this.keys.has(entry.key)) return;
    if (this.closed) throw new OperationError('conflict', 'the run has ended');
    if (this.finished) throw new OperationError('conflict', "the run's input is closed");
    if (this.backlogBytes + entry.bytes.length > BACKLOG_BYTES_MAX) {
      const waiting = `${this.backlogBytes} bytes wait already for the run to read them`;
      throw new OperationError('exhausted', waiting, 'Try again when the run has read its input.');
    }
    const file = await open(this.journal, 'a');
    try {
      await file.appendFile(formatEntry(entry));
    } finally {
      await file.close();
    }
    this.keys.add(entry.key);
    this.enqueue(entry);
    void this.pump();
  }

  private enqueue(entry: Entry): void {
    if (entry.eof) this.finished = true;
    this.queue.push(entry);
    this.backlogBytes += entry.bytes.length;
  }

  private async pump(): Promise<void> {
    if (this.pumping) return;
    this.pumping = true;
    try {
      for (let entry = this.queue[0]; entry && !this.closed; entry = this.queue[0]) {
        await this.deliver(entry);
        this.queue.shift();
      }
    } catch {
      // The run closed its stdin or ended; what it did not read has no other reader.
      this.finished = true;
      this.queue.length = 0;
      this.backlogBytes = 0;
    } finally {
      this.pumping = false;
    }
  }

  private async deliver(entry: Entry): Promise<void> {
    for (let offset = 0; offset < entry.bytes.length;) {
      const chunk = entry.bytes.subarray(offset, offset + FRAME_DATA_BYTES_MAX);
      await this.writeChunk(chunk);
      offset += chunk.length;
      this.backlogBytes -= chunk.length;
      this.deliveredBytes += chunk.length;
      await writeFile(`${this.journal}.position`, String(this.deliveredBytes));
    }
    if (!entry.eof) return;
    // Without this open the end could overtake the run's own opening of the FIFO.
    await this.openPipe();
    this.pipe?.end();
    await this.hold?.write('\n');
  }

  private async writeChunk(chunk: Buffer): Promise<void> {
    const pipe = await this.openPipe();
    await new Promise<void>((resolve, reject) => {
      const closed = (): void => reject(new Error('closed'));
      pipe.once('close', closed);
      pipe.write(chunk, (error) => {
        pipe.off('close', closed);
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Opening for writing only fails until the run has opened its end, which is what is awaited. */
  private async openPipe(): Promise<Socket> {
    while (!this.pipe) {
      if (this.closed) throw new Error('ended');
      this.pipe = openFifoWriter(this.directory.input);
      if (!this.pipe) await new Promise((resolve) => setTimeout(resolve, OPEN_RETRY_MS));
    }
    return this.pipe;
  }
}

const formatEntry = (entry: Entry): Buffer => {
  const head = { key: entry.key, bytes: entry.bytes.length, eof: entry.eof };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), entry.bytes, Buffer.from('\n')]);
};

/** A last entry that was cut off by a crash was never answered, and is dropped. */
const parseJournal = (journal: Buffer): { entries: Entry[]; validBytes: number } => {
  const entries: Entry[] = [];
  let position = 0;
  while (position < journal.length) {
    const lineEnd = journal.indexOf(10, position);
    if (lineEnd < 0) break;
    try {
      const line = journal.subarray(position, lineEnd).toString('utf8');
      const head = JSON.parse(line) as { key: string; bytes: number; eof: boolean };
      const bodyEnd = lineEnd + 1 + head.bytes;
      if (journal.length < bodyEnd + 1) break;
      const bytes = journal.subarray(lineEnd + 1, bodyEnd);
      entries.push({ key: head.key, bytes, eof: head.eof });
      position = bodyEnd + 1;
    } catch {
      break;
    }
  }
  return { entries, validBytes: position };
};
