import type { AnyEvent } from '@hangar/contracts';
import { checkpointPolicy } from '../../../libs/checkpoints/src/checkpoint.policy.ts';
import type { RunCommand } from '../../../libs/runs/src/run.decider.ts';
import { runPolicy } from '../../../libs/runs/src/run.policy.ts';
import { terminalPolicy } from '../../../libs/runs/src/terminal.policy.ts';
import { sandboxPolicy } from '../../../libs/sandboxes/src/sandbox.policy.ts';
import { sessionPolicy } from '../../../libs/sessions/src/session.policy.ts';
import type { Session } from '../../../libs/sessions/src/session.ts';
import { SimLog, type AggregateName, type Aggregates, type Recorded } from './sim-log.ts';

export const SESSION_ID = 'ses-0000abcd';
export const SANDBOX_TTL_MINUTES = 90;

/** The computer that a sandbox is: what really happens, whatever the log says of it. */
export interface Computer {
  id: string;
  isAlive: boolean;
  /** Units of work in the tree; each is made once, so a missing one is lost work. */
  tree: Set<number>;
  /** Made here, not restored: of what was restored there is a checkpoint. */
  made: Set<number>;
  /** Made by a run after its turn had been cut: nobody was promised that. */
  stray: Set<number>;
  /** By run. */
  processes: Map<string, Process>;
  /** Agents that a person talks with, by terminal: whether each is still at work. */
  talks: Map<string, { isRunning: boolean }>;
}

/** What an agent printed, as the command that puts it on record. */
export type Line = { type: RunCommand['type']; data: object };

/** An agent at work: what it really has, whatever the log says of it. */
export interface Process {
  turn: number;
  isRunning: boolean;
  /** Everything it printed; a service that crashed reads it again from the first line. */
  output: Line[];
  hasPrompt: boolean;
  /** Messages for the running turn: those it was told of, and those of them that are settled. */
  told: Set<string>;
  settled: Set<string>;
  /** Asks that wait for an answer. */
  asks: Set<string>;
  asked: number;
}

export interface Content {
  units: number[];
  isComplete: boolean;
  isCorrupt: boolean;
}

/** A piece of outside work: durable, done at least once, step by step. */
export interface Task {
  key: string;
  kind:
    | 'provision'
    | 'destroy'
    | 'capture'
    | 'restore'
    | 'drop'
    | 'run'
    | 'talk'
    | 'notice'
    | 'nudge';
  id: string;
  epoch: number;
  step: number;
  /** Lines of the process's output that were put on record since the service started. */
  read: number;
  /** Nothing happens before; Infinity: it hangs, or waits for somebody to speak. */
  wakeMs: number;
}

export class SimFailure extends Error {}

const CONSUMERS = ['sessions', 'sandboxes', 'checkpoints', 'runs'] as const;
export type Consumer = (typeof CONSUMERS)[number];

export class SimWorld {
  readonly log = new SimLog();
  readonly computers = new Map<string, Computer>();
  readonly contents = new Map<string, Content>();
  readonly tasks = new Map<string, Task>();
  readonly positions = new Map<string, number>();
  readonly trace: string[] = [];
  isTraced = false;
  private readonly behind = new Map<string, { consumer: Consumer; stream: string }>();
  /** Process starts by run, and what each message was given to. */
  readonly starts = new Map<string, number>();
  readonly messages: string[] = [];
  /** Messages that a person took back, as far as they were told. */
  readonly wantedBack = new Set<string>();
  /** Messages that an agent really got while it worked, with its turn. */
  readonly gifts: { message_id: string; turn: number }[] = [];
  /** Turns whose computer was gone when they ended. */
  readonly lostTurns = new Set<number>();
  /** Answers that an agent really took while it waited for them, by run and ask. */
  readonly taken: string[] = [];
  /** Asks that a harness gave up by itself, by run and ask. */
  readonly givenUp = new Set<string>();
  /** Asks that the conversation ended on: the next turn may ask again. */
  readonly pending = new Set<string>();
  nowMs = Date.parse('2030-01-01T00:00:00.000Z');
  private nowText = { ms: 0, text: '' };
  lastExecAt: string | null = null;
  unitsMade = 0;
  /** The turn that a unit was made in, while it was open. */
  readonly turnOfUnit = new Map<number, number>();
  /** 0: everything works at the first attempt; 1: faults as often as the workers say. */
  faults = 1;
  onEvents: (records: Recorded[], world: SimWorld) => void = () => {};

  now(): string {
    if (this.nowText.ms !== this.nowMs)
      this.nowText = { ms: this.nowMs, text: new Date(this.nowMs).toISOString() };
    return this.nowText.text;
  }

  /** Written only when somebody will read it: most schedules have nothing to tell. */
  note(line: () => string): void {
    if (this.isTraced) this.trace.push(line());
  }

  session(): Session {
    const state = this.log.state('session', SESSION_ID);
    if (!state) throw new SimFailure('there is no session');
    return state;
  }

  execute<A extends AggregateName>(
    aggregate: A,
    id: string,
    command: Aggregates[A]['command'],
  ): AnyEvent[] {
    const records = this.log.execute(aggregate, id, command);
    if (records.length) this.note(() => `  ${aggregate}/${id} ${command.type}`);
    for (const record of records) {
      this.note(() => `    -> ${record.event.type} ${brief(record.event.data)}`);
      this.request(record.event);
      this.noteBehind(record);
    }
    this.onEvents(records, this);
    return records.map((r) => r.event);
  }

  /** What is asked of the world outside is a task from the moment that it is in the log. */
  private request(event: AnyEvent): void {
    switch (event.type) {
      case 'SandboxProvisionRequested':
        return this.add('provision', event.data.sandbox_id, event.data.epoch);
      case 'SandboxDestroyRequested':
        return this.add('destroy', event.data.sandbox_id, event.data.epoch);
      case 'CheckpointRequested':
        return this.add('capture', event.data.checkpoint_id, event.data.epoch);
      case 'CheckpointRestoreRequested':
        return this.add('restore', event.data.checkpoint_id, event.data.epoch);
      case 'CheckpointDropped':
        return this.add('drop', event.data.checkpoint_id, 0);
      case 'RunRequested':
        return this.add('run', event.data.run_id, event.data.epoch);
      case 'TerminalRequested':
        return this.add('talk', event.data.terminal_id, event.data.epoch);
      case 'TerminalEndRequested':
        return this.add('nudge', event.data.terminal_id, 0);
      case 'RunCancelRequested':
      case 'RunSteerRequested':
      case 'RunWithdrawRequested':
      case 'RunAnswerGiven':
      case 'RunDeferRequested':
        return this.add('nudge', event.data.run_id, 0);
      default:
    }
  }

  add(kind: Task['kind'], id: string, epoch: number): void {
    const key = kind === 'restore' ? `restore:${id}:${epoch}` : `${kind}:${id}`;
    if (!this.tasks.has(key))
      this.tasks.set(key, { key, kind, id, epoch, step: 0, read: 0, wakeMs: this.nowMs });
  }

  /** Deliveries that are due, each consumer at its own pace, in the order of each stream. */
  deliverable(): Iterable<{ consumer: Consumer; stream: string }> {
    return this.behind.values();
  }

  private noteBehind({ aggregate, stream }: Recorded): void {
    for (const consumer of CONSUMERS)
      if ((aggregate === 'session') !== (consumer === 'sessions'))
        this.behind.set(`${consumer} ${stream}`, { consumer, stream });
  }

  /** `isAcked` false: handled, but the word of it was lost, so that it comes again. */
  deliver(consumer: Consumer, stream: string, isAcked: boolean): void {
    const key = `${consumer} ${stream}`;
    const position = this.positions.get(key) ?? 0;
    const record = this.log.streams.get(stream)?.[position];
    if (!record) return;
    this.handle(consumer, record);
    if (!isAcked) return;
    this.positions.set(key, position + 1);
    if (position + 1 === this.log.streams.get(stream)?.length) this.behind.delete(key);
  }

  handle(consumer: Consumer, { event }: Recorded): void {
    const now = this.now();
    switch (consumer) {
      case 'sessions':
        for (const s of sessionPolicy(event, now)) this.execute('session', s.session_id, s.command);
        return;
      case 'sandboxes':
        for (const s of sandboxPolicy(event, now, { ttlMinutes: SANDBOX_TTL_MINUTES }))
          this.execute('sandbox', s.sandbox_id, s.command);
        return;
      case 'checkpoints':
        for (const s of checkpointPolicy(event, now))
          this.execute('checkpoint', s.checkpoint_id, s.command);
        return;
      case 'runs':
        for (const s of runPolicy(event, now)) this.execute('run', s.run_id, s.command);
        for (const s of terminalPolicy(event, now))
          this.execute('terminal', s.terminal_id, s.command);
    }
  }
}

const SHOWN = [
  'sandbox_id',
  'checkpoint_id',
  'checkpoint_ids',
  'turn',
  'message_id',
  'card_id',
  'ask_id',
  'mode',
  'reason',
  'outcome',
  'complete',
  'cause',
  'force',
  'kind',
  'text',
  'epoch',
  'sandbox_gone',
];

function brief(data: object): string {
  const entries = Object.entries(data).filter(([key]) => SHOWN.includes(key));
  return entries.map(([key, value]) => `${key}=${String(value).slice(0, 90)}`).join(' ');
}
