import { HangarError } from '@hangar/contracts';
import type { ProtocolInput, TurnProtocol, TurnResult } from '@hangar/harness-adapters';
import type { ExitStatus, SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';
import { LineSplitter } from './line-splitter.ts';

/** The harness's own interrupt gets this long, then a TERM, then a KILL [M8]. */
const INTERRUPT_MS_MAX = 10_000;
const TERM_MS_MAX = 5_000;
/** After its result a harness writes what it still has to write and leaves. */
const LEAVE_MS_MAX = 30_000;
/** A sandbox that cannot be asked is asked again after this, for as long as it takes [S5]. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;
/** A KILL that could not be delivered is sent again after this, until the process has ended. */
const KILL_AGAIN_MS = 5_000;
const STDERR_CHARACTERS_MAX = 16 * 1024;

export type StopReason = 'cancelled' | 'timed_out';

export type ProcessEnd =
  | { kind: 'result'; result: TurnResult; exitCode: number | null; conversationId: string | null }
  /** The harness speaks of another conversation than the one it was to resume [R3]. */
  | { kind: 'wrong_conversation'; conversationId: string }
  | { kind: 'vanished'; reason: string }
  | { kind: 'sandbox_gone'; reason: string };

export interface TurnProcessOptions {
  io: SandboxIo;
  ref: SandboxRef;
  processId: string;
  protocol: TurnProtocol;
  /** The id that has to be reported; null when the harness chooses it. */
  expectedConversation: string | null;
  onDelivered(): Promise<void>;
  /** Aborted with a StopReason when the turn shall end. */
  stop: AbortSignal;
  /** Aborted when this service leaves: the process goes on without it [M6]. */
  signal: AbortSignal;
}

/**
 * Drives the protocol of a process that runs detached. Its output is read from the first byte, so
 * that the protocol is where it was; what was written before is written once, by its key.
 */
export async function driveTurn(options: TurnProcessOptions): Promise<ProcessEnd> {
  const drive = new Drive(options);
  try {
    return await drive.run();
  } finally {
    drive.dispose();
  }
}

/**
 * What happened could not be recorded. The rest of what was read would be lost if the drive went
 * on behind it, so it ends, and the next one reads everything again.
 */
class NotRecorded extends Error {}

class Drive {
  readonly #options: TurnProcessOptions;
  readonly #lines = new LineSplitter();
  readonly #timers = new Set<NodeJS.Timeout>();
  #writes: Promise<void> = Promise.resolve();
  #offset = { out: 0, err: 0 };
  #stderr = '';
  #ended: TurnResult | null = null;
  #conversationId: string | null = null;
  #wrong: string | null = null;
  #stopping = false;
  readonly #onStop = (): void => this.#beginStop();

  constructor(options: TurnProcessOptions) {
    this.#options = options;
  }

  dispose(): void {
    this.#options.stop.removeEventListener('abort', this.#onStop);
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async run(): Promise<ProcessEnd> {
    const { protocol, stop, signal } = this.#options;
    this.#send(protocol.open());
    if (stop.aborted) this.#beginStop();
    else stop.addEventListener('abort', this.#onStop);
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(RETRY_MS_MAX, pauseMs * 2)) {
      signal.throwIfAborted();
      const exit = await this.#follow();
      if (exit.kind !== 'connection_lost') return this.#finish(exit);
      await this.#pause(pauseMs);
    }
  }

  /** Reads on from where it was, until the process has ended or the way to it is lost. */
  async #follow(): Promise<ExitStatus> {
    const { io, ref, processId, signal } = this.#options;
    let isThere = false;
    try {
      const status = await io.runs.status(ref, processId);
      isThere = true;
      if (status.state === 'unknown') return { kind: 'not_started', error: 'the run is not there' };
      const { stdout, stderr, exit } = await io.runs.follow(ref, processId, this.#offset, signal);
      stderr.on('data', (chunk: Buffer) => {
        this.#offset.err += chunk.byteLength;
        this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_CHARACTERS_MAX);
      });
      // Two readers of one stream would each see half of it: `for await` reads, `exit` is awaited after.
      exit.catch(() => undefined);
      for await (const chunk of stdout) {
        this.#offset.out += (chunk as Buffer).byteLength;
        for (const line of this.#lines.push(chunk as Buffer)) await this.#line(line);
      }
      return await exit;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NotRecorded) throw error.cause;
      const failure = HangarError.from(error);
      // What was not found after its status was told is asked about once more: only a sandbox that
      // does not answer for itself is gone [S5].
      if (failure.code === 'not_found')
        return { kind: isThere ? 'connection_lost' : 'sandbox_gone' };
      if (failure.code === 'unavailable') return { kind: 'connection_lost' };
      throw error;
    }
  }

  async #line(line: string): Promise<void> {
    const { protocol, expectedConversation } = this.#options;
    const { events, inputs } = protocol.line(line);
    this.#send(inputs);
    for (const event of events) {
      if (event.type === 'conversation') {
        this.#conversationId = event.id;
        const other = expectedConversation !== null && event.id !== expectedConversation;
        if (other && this.#wrong === null) {
          this.#wrong = event.id;
          this.#killUntilGone();
        }
      }
      if (event.type === 'delivered') await this.#recordDelivery();
      if (event.type === 'ended') {
        this.#ended = event.result;
        this.#send(protocol.close());
        this.#after(LEAVE_MS_MAX, () => this.#terminate());
      }
    }
  }

  async #recordDelivery(): Promise<void> {
    try {
      await this.#options.onDelivered();
    } catch (cause) {
      throw new NotRecorded('the delivery could not be recorded', { cause });
    }
  }

  /** In order, each once by its key; a lost connection is waited out. */
  #send(inputs: ProtocolInput[]): void {
    const { io, ref, processId, signal } = this.#options;
    for (const { key, line } of inputs) {
      this.#writes = this.#writes.then(async () => {
        const bytes = line === 'eof' ? ('eof' as const) : Buffer.from(`${line}\n`);
        for (let pauseMs = RETRY_MS_MIN; !signal.aborted; pauseMs *= 2) {
          try {
            return await io.runs.input(ref, processId, key, bytes);
          } catch (error) {
            // A process that has ended takes nothing more; its end is read from its output.
            if (HangarError.from(error).code !== 'unavailable') return;
            await this.#pause(Math.min(RETRY_MS_MAX, pauseMs));
          }
        }
      });
    }
  }

  #beginStop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    const inputs = this.#options.protocol.interrupt();
    if (inputs.length === 0) this.#kill('SIGINT');
    this.#send(inputs);
    this.#after(INTERRUPT_MS_MAX, () => this.#terminate());
  }

  #terminate(): void {
    this.#kill('SIGTERM');
    this.#after(TERM_MS_MAX, () => this.#killUntilGone());
  }

  #killUntilGone(): void {
    this.#kill('SIGKILL');
    this.#after(KILL_AGAIN_MS, () => this.#killUntilGone());
  }

  #kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    const { io, ref, processId } = this.#options;
    // A signal that did not arrive is followed by the next step of the escalation.
    void io.runs.kill(ref, processId, signal).catch(() => undefined);
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve) => {
      const end = (): void => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#after(ms, end);
      signal.addEventListener('abort', end);
    });
  }

  async #finish(exit: ExitStatus): Promise<ProcessEnd> {
    const { io, ref, processId, protocol, stop } = this.#options;
    if (exit.kind === 'sandbox_gone')
      return { kind: 'sandbox_gone', reason: 'the sandbox went away while the agent worked' };
    // Shells that the agent left running end with its turn [M8].
    await io.runs.kill(ref, processId, 'SIGKILL').catch(() => undefined);
    if (this.#wrong !== null) return { kind: 'wrong_conversation', conversationId: this.#wrong };
    if (exit.kind === 'not_started' && this.#ended === null)
      return { kind: 'vanished', reason: `the agent is not there: ${exit.error}` };
    const code = exit.kind === 'exited' ? exit.code : null;
    const name = exit.kind === 'signalled' ? exit.signal : null;
    if (this.#ended === null && name !== null && !this.#stopping)
      return { kind: 'vanished', reason: `the agent was killed (${name})` };
    const result = this.#ended ?? protocol.exited({ code, signal: name }, this.#stderr);
    return {
      kind: 'result',
      exitCode: code,
      conversationId: this.#conversationId,
      result: this.#stopping ? stopped(result, stop.reason as StopReason) : result,
    };
  }
}

/** A turn that ended by itself while it was being stopped keeps its own end. */
function stopped(result: TurnResult, reason: StopReason): TurnResult {
  if (result.outcome === 'succeeded') return result;
  const message = reason === 'timed_out' ? 'the turn was at its time limit' : 'it was interrupted';
  return { ...result, outcome: 'cancelled', error: { kind: 'process', message } };
}
