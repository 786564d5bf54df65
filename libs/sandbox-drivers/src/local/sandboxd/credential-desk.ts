import { execFile } from 'node:child_process';
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Document, MuxStream } from '../wire/mux-stream.ts';
import { CREDENTIALS_FIFO, CREDENTIALS_WAITING_MAX } from '../wire/protocol.ts';
import { openFifoReader, openFifoWriter } from './fifo.ts';

/** The writer's bound: what is longer was not written in one piece, or not by `hangar-credential`. */
const REQUEST_BYTES_MAX = 4096;
/** How long a request waits for hangar, restarts of hangar included. */
const WAIT_MS = 45_000;
/** Whoever asked opens its end of the answer within this, or has left. */
const REPLY_OPEN_MS = 5_000;
const REPLY_POLL_MS = 5;
const REPLY_NAME = /^reply\.\d{1,10}$/;

interface Waiting {
  reply: string;
  attributes: Record<string, string>;
  /** Who was asked for it; null while nobody is there. */
  server: MuxStream | null;
  timer: NodeJS.Timeout;
}

/**
 * Takes requests for credentials from processes of the sandbox and hands them to hangar over the
 * connection that hangar holds: the sandbox reaches nothing of hangar [X9]. A request that hangar
 * did not answer before it left is asked again of the next that comes. Values are passed on and
 * kept nowhere.
 */
export class CredentialDesk {
  private readonly directory: string;
  private readonly waiting = new Map<number, Waiting>();
  private readonly servers: MuxStream[] = [];
  private opened: Promise<void> | undefined;
  private nextId = 1;
  private text = '';

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Until hangar gives the stream up. */
  async serve(stream: MuxStream): Promise<void> {
    // What came before the first one to answer waits in the pipe.
    await (this.opened ??= this.open());
    stream.onMessage((message) => this.take(message));
    stream.cancelled.addEventListener('abort', () => this.leave(stream));
    this.servers.push(stream);
    if (stream.cancelled.aborted) return this.leave(stream);
    this.ask();
  }

  private async open(): Promise<void> {
    const path = join(this.directory, CREDENTIALS_FIFO);
    if (!(await isFifo(path))) {
      await rm(path, { recursive: true, force: true });
      // One that asks at this moment may have made it, too.
      await promisify(execFile)('mkfifo', ['-m', '600', path]).catch(() => undefined);
    }
    openFifoReader(path).on('data', (chunk: Buffer) => this.receive(chunk.toString('utf8')));
  }

  private leave(stream: MuxStream): void {
    const index = this.servers.indexOf(stream);
    if (index >= 0) this.servers.splice(index, 1);
    stream.finish({});
    for (const waiting of this.waiting.values())
      if (waiting.server === stream) waiting.server = null;
    this.ask();
  }

  private receive(text: string): void {
    this.text += text;
    for (let end = this.text.indexOf('\n\n'); end >= 0; end = this.text.indexOf('\n\n')) {
      this.add(this.text.slice(0, end));
      this.text = this.text.slice(end + 2);
    }
    if (this.text.length > REQUEST_BYTES_MAX) this.text = '';
  }

  private add(record: string): void {
    if (record.length > REQUEST_BYTES_MAX) return;
    const { reply = '', ...attributes } = parseAttributes(record);
    if (!REPLY_NAME.test(reply)) return;
    if (this.waiting.size >= CREDENTIALS_WAITING_MAX) {
      void this.reply(reply, `refused\nhangar: ${CREDENTIALS_WAITING_MAX} requests wait already\n`);
      return;
    }
    const id = this.nextId++;
    const late = `hangar did not answer within ${WAIT_MS / 1000} seconds; try again`;
    const timer = setTimeout(() => this.take({ id, refused: late }), WAIT_MS);
    this.waiting.set(id, { reply, attributes, server: null, timer });
    this.ask();
  }

  private ask(): void {
    const server = this.servers.at(-1);
    if (!server) return;
    for (const [id, waiting] of this.waiting) {
      if (waiting.server) continue;
      waiting.server = server;
      server.send({ id, attributes: waiting.attributes });
    }
  }

  private take(message: Document): void {
    const id = Number(message.id);
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    this.waiting.delete(id);
    clearTimeout(waiting.timer);
    const answer =
      typeof message.output === 'string'
        ? `ok\n${message.output}`
        : `refused\nhangar: ${String(message.refused)}\n`;
    void this.reply(waiting.reply, answer);
  }

  private async reply(name: string, answer: string): Promise<void> {
    const path = join(this.directory, name);
    const deadline = Date.now() + REPLY_OPEN_MS;
    while (await isFifo(path)) {
      const writer = openFifoWriter(path);
      if (writer) {
        writer.end(answer);
        return;
      }
      if (Date.now() > deadline) await rm(path, { force: true });
      else await delay(REPLY_POLL_MS);
    }
  }
}

const isFifo = (path: string): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isFIFO(),
    () => false,
  );

/** `name=value` lines, as git's credential helpers have them. */
const parseAttributes = (record: string): Record<string, string> => {
  const attributes: [string, string][] = [];
  for (const line of record.split('\n')) {
    const equals = line.indexOf('=');
    if (equals > 0) attributes.push([line.slice(0, equals), line.slice(equals + 1)]);
  }
  return Object.fromEntries(attributes);
};
