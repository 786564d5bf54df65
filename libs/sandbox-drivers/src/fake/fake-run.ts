import { Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import type { ExitStatus, RunFollow, RunRequest, RunStatus } from '../sandbox-driver.ts';

/** Output a fake run keeps; more is a mistake of the test. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** A run whose other side is played by a test or a demo. */
export class FakeRun {
  readonly id: string;
  readonly request: RunRequest;
  /** What was said to it, once per key, in order. */
  readonly inputs: { key: string; chunk: Buffer | 'eof' }[] = [];
  /** Signals it was sent. */
  readonly signals: string[] = [];
  private readonly out: Buffer[] = [];
  private readonly err: Buffer[] = [];
  private end: ExitStatus | null = null;
  private readonly waiters = new Set<() => void>();
  private readonly listeners = new Set<(input: { key: string; chunk: Buffer | 'eof' }) => void>();

  constructor(id: string, request: RunRequest) {
    this.id = id;
    this.request = request;
  }

  print(text: string | Uint8Array): void {
    this.append(this.out, text);
  }

  printError(text: string | Uint8Array): void {
    this.append(this.err, text);
  }

  /** Called for every input, those that came before too. */
  onInput(listener: (input: { key: string; chunk: Buffer | 'eof' }) => void): void {
    this.listeners.add(listener);
    for (const input of this.inputs) listener(input);
  }

  exit(status: ExitStatus = { kind: 'exited', code: 0 }): void {
    this.end ??= status;
    this.wake();
  }

  get exited(): ExitStatus | null {
    return this.end;
  }

  say(key: string, chunk: Uint8Array | 'eof'): void {
    if (this.inputs.some((input) => input.key === key)) return;
    if (this.end) throw new HangarError('conflict', `The run ${this.id} has ended.`);
    const input = { key, chunk: chunk === 'eof' ? chunk : Buffer.from(chunk) };
    this.inputs.push(input);
    for (const listener of this.listeners) listener(input);
  }

  kill(signal: string): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL') this.exit({ kind: 'signalled', signal });
  }

  status(): RunStatus {
    const sizes = { outBytes: sizeOf(this.out), errBytes: sizeOf(this.err) };
    if (this.end) return { state: 'exited', exit: this.end, ...sizes };
    return { state: 'running', ...sizes };
  }

  follow(from: { out: number; err: number }, signal?: AbortSignal): RunFollow {
    signal?.addEventListener('abort', () => this.wake());
    const stdout = Readable.from(this.tail(this.out, from.out, signal), { objectMode: false });
    const stderr = Readable.from(this.tail(this.err, from.err, signal), { objectMode: false });
    return { stdout, stderr, exit: this.awaitEnd(signal) };
  }

  private async awaitEnd(signal?: AbortSignal): Promise<ExitStatus> {
    while (!this.end) {
      if (signal?.aborted === true) return { kind: 'connection_lost' };
      await this.change();
    }
    return this.end;
  }

  private async *tail(
    chunks: Buffer[],
    from: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Buffer> {
    let position = from;
    while (signal?.aborted !== true) {
      const rest = Buffer.concat(chunks).subarray(position);
      position += rest.length;
      if (rest.length > 0) yield rest;
      else if (this.end) return;
      else await this.change();
    }
  }

  private append(chunks: Buffer[], text: string | Uint8Array): void {
    if (this.end) throw new Error(`the fake run ${this.id} has ended`);
    chunks.push(Buffer.from(text));
    if (sizeOf(chunks) > OUTPUT_BYTES_MAX) throw new Error(`too much output of ${this.id}`);
    this.wake();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.waiters.add(resolve));
  }

  private wake(): void {
    for (const waiter of this.waiters) waiter();
    this.waiters.clear();
  }
}

const sizeOf = (chunks: Buffer[]): number => chunks.reduce((sum, chunk) => sum + chunk.length, 0);
