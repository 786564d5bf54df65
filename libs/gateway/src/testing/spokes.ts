import type { Ask, EventMap, EventName, SandboxPlace, SessionEvent } from '@hangar/contracts';
import {
  causedBy,
  createConsumer,
  newEventId,
  type Consumer,
  type EventStore,
  type LogConnection,
  type RecordedEvent,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';

/**
 * The other services, as events: each request of a session is answered at once, except for what a
 * test holds back. The session itself is the real one.
 */
export class Spokes {
  /** Types of events of the session that get no answer yet. */
  readonly held = new Set<string>();
  readonly #store: EventStore;
  readonly #consumer: Consumer;
  readonly #waiting: RecordedEvent[] = [];
  isIncomplete = false;

  constructor(log: LogConnection) {
    this.#store = log.store(['sandbox', 'checkpoint', 'run', 'terminal']);
    this.#consumer = createConsumer({
      name: 'test-spokes',
      pool: log.pool,
      nats: log.nats,
      filter: eventSubjects('session'),
      readStream: this.#store.readStream,
      handle: async (event) => {
        if (this.held.has(event.type)) this.#waiting.push(event);
        else await this.answer(event);
      },
    });
  }

  start(): void {
    this.#consumer.start();
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /** Answers what was held back of this type. */
  async release(type: string): Promise<void> {
    this.held.delete(type);
    for (const event of this.#waiting.splice(0)) {
      if (this.held.has(event.type)) this.#waiting.push(event);
      else await this.answer(event);
    }
  }

  async answer(event: RecordedEvent): Promise<void> {
    if (event.type === 'RunFinished') {
      const turn = event.data as unknown as { run_id: string; session_id: string; turn: number };
      await this.#finish(event, turn, 'succeeded');
      return;
    }
    const named = event as unknown as SessionEvent;
    switch (named.type) {
      case 'SandboxRequested': {
        const { session_id, sandbox_id, epoch } = named.data;
        const place = samplePlace(sandbox_id, named.data.cwd);
        await this.#tell(event, `sandbox/${sandbox_id}`, 'SandboxReady', {
          sandbox_id,
          session_id,
          epoch,
          place,
          expires_at: '2031-01-01T00:00:00.000Z',
          environment_version: 1,
        });
        return;
      }
      case 'RestoreRequested': {
        const { session_id, checkpoint_id, epoch } = named.data;
        const part = { state: 'kept' };
        await this.#tell(event, `checkpoint/${checkpoint_id}`, 'CheckpointRestored', {
          checkpoint_id,
          session_id,
          epoch,
          continuity: {
            conversation: part,
            commits: part,
            staged: part,
            unstaged: part,
            untracked: part,
            ignored: { state: 'lost', detail: 'not asked for' },
            processes: { state: 'lost', detail: 'never kept' },
            losses: [],
          },
        });
        return;
      }
      case 'SandboxReleaseRequested': {
        const { session_id, sandbox_id, epoch, cause } = named.data;
        await this.#tell(event, `sandbox/${sandbox_id}`, 'SandboxDestroyed', {
          sandbox_id,
          session_id,
          epoch,
          cause,
        });
        return;
      }
      case 'CheckpointDue':
        await this.#capture(event, named.data);
        return;
      case 'TurnRequested':
        await this.#run(event, named.data);
        return;
      case 'TurnCancelRequested':
        await this.#finish(event, named.data, 'cancelled');
        return;
      case 'TalkEndRequested': {
        const { session_id, terminal_id, reason } = named.data;
        await this.#tell(event, `terminal/${terminal_id}`, 'TerminalEnded', {
          terminal_id,
          session_id,
          epoch: 1,
          reason,
          ended_at: event.at,
        });
        return;
      }
      case 'SteerRequested':
        await this.#tellMessage(event, 'RunMessageDelivered', named.data);
        return;
      case 'TakeBackRequested':
        await this.#tellMessage(event, 'RunMessageReturned', named.data);
        return;
      case 'CardAnswered': {
        const { session_id, turn, run_id, ask_id } = named.data;
        await this.#tell(event, `run/${run_id}`, 'RunAskClosed', {
          ...runOf(session_id, turn),
          ask_id,
          closed_at: new Date().toISOString(),
        });
        return;
      }
      case 'DeferRequested':
        await this.#finish(event, named.data, 'deferred');
        return;
      default:
    }
  }

  async #capture(
    event: RecordedEvent,
    d: Extract<SessionEvent, { type: 'CheckpointDue' }>['data'],
  ): Promise<void> {
    await this.#tell(event, `checkpoint/${d.checkpoint_id}`, 'CheckpointTaken', {
      checkpoint_id: d.checkpoint_id,
      session_id: d.session_id,
      epoch: d.epoch,
      reason: d.reason,
      turn: d.turn,
      complete: !this.isIncomplete,
      head: 'a'.repeat(40),
      parts: [{ name: 'meta.json', size: 7, sha256: 'b'.repeat(64) }],
      skipped: [],
      warnings: [],
      taken_at: new Date().toISOString(),
    });
  }

  async #run(
    event: RecordedEvent,
    d: Extract<SessionEvent, { type: 'TurnRequested' }>['data'],
  ): Promise<void> {
    const { run_id, session_id, turn, epoch, message_id } = d;
    const run = { run_id, session_id, turn, epoch };
    await this.#tell(event, `run/${run_id}`, 'RunStarted', {
      ...run,
      conversation: 'native',
      started_at: new Date().toISOString(),
    });
    await this.#tell(event, `run/${run_id}`, 'RunMessageDelivered', { ...run, message_id });
    if (this.held.has('RunFinished')) this.#waiting.push({ ...event, type: 'RunFinished' });
    else await this.#finish(event, d, 'succeeded');
  }

  /** What the harness says of a message that was offered to its turn. */
  async #tellMessage(
    event: RecordedEvent,
    type: 'RunMessageDelivered' | 'RunMessageReturned',
    { session_id, turn, message_id }: { session_id: string; turn: number; message_id: string },
  ): Promise<void> {
    const run = runOf(session_id, turn);
    await this.#tell(event, `run/${run.run_id}`, type, { ...run, message_id });
  }

  /** Ends the run of a turn, in whatever way. */
  async #finish(
    event: RecordedEvent,
    d: { run_id: string; session_id: string; turn: number },
    outcome: string,
  ): Promise<void> {
    const { run_id, session_id, turn } = d;
    await this.#tell(event, `run/${run_id}`, 'RunFinished', {
      run_id,
      session_id,
      turn,
      epoch: 1,
      outcome,
      exit_code: 0,
      summary: `did turn ${turn}`,
      usage: { input_tokens: 10, output_tokens: 5, cached_tokens: 0 },
      harness_session: 'conversation-1',
      conversation: 'native',
      finished_at: new Date().toISOString(),
    });
  }

  /** A run whose sandbox went away in mid-turn. */
  async loseRun(session_id: string, turn: number): Promise<void> {
    const run = runOf(session_id, turn);
    await this.#tell(ofItself(), `run/${run.run_id}`, 'RunFailed', {
      ...run,
      code: 'sandbox_gone',
      reason: 'the sandbox went away',
      sandbox_gone: true,
      failed_at: new Date().toISOString(),
    });
  }

  /** The agent wants something of a person. */
  async ask(session_id: string, turn: number, ask: Ask): Promise<void> {
    const run = runOf(session_id, turn);
    const asked_at = new Date().toISOString();
    await this.#tell(ofItself(), `run/${run.run_id}`, 'RunAsked', { ...run, ask, asked_at });
  }

  /** A tool call was allowed or denied. */
  async decide(
    session_id: string,
    turn: number,
    decided: Pick<EventMap['RunToolDecided'], 'call_id' | 'tool' | 'verdict' | 'decided_by'>,
  ): Promise<void> {
    const run = runOf(session_id, turn);
    await this.#tell(ofItself(), `run/${run.run_id}`, 'RunToolDecided', {
      ...run,
      ...decided,
      input: '{}',
      reason: '',
      decided_at: new Date().toISOString(),
    });
  }

  async #tell<K extends EventName>(
    event: RecordedEvent,
    stream: string,
    type: K,
    data: EventMap[K],
  ): Promise<void> {
    // A test tells what it wants while the spokes themselves answer events on the same stream.
    for (let attempt = 1; ; attempt += 1) {
      const { version } = await this.#store.load(stream);
      const done = await this.#store.append(stream, version, [{ type, data }], {
        meta: causedBy(event, 'test-spokes'),
      });
      if (done.kind === 'appended') return;
      if (attempt === TELL_ATTEMPTS_MAX) throw new Error(`${type} met ${done.kind}`);
    }
  }
}

const TELL_ATTEMPTS_MAX = 5;

const runOf = (session_id: string, turn: number) => ({
  run_id: `run-${session_id.slice(4)}-${turn}`,
  session_id,
  turn,
  epoch: 1,
});

/** What no event of the session is the cause of. */
const ofItself = (): RecordedEvent =>
  ({ id: newEventId(), meta: { correlation: 'test' } }) as RecordedEvent;

const samplePlace = (sandbox_id: string, cwd: string): SandboxPlace => ({
  sandbox_id,
  instance: `${sandbox_id}-boot`,
  home: '/home/agent',
  cwd,
  node: '/run/hangar/node',
  tools: '/run/hangar/tools',
  harness_root: '/opt/harnesses',
});
