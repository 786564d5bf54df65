import { validateEvent, type AnyEvent } from '@hangar/contracts';
import * as checkpoints from '../../../libs/checkpoints/src/checkpoint.decider.ts';
import * as checkpoint from '../../../libs/checkpoints/src/checkpoint.ts';
import * as runs from '../../../libs/runs/src/run.decider.ts';
import * as run from '../../../libs/runs/src/run.ts';
import * as terminals from '../../../libs/runs/src/terminal.decider.ts';
import * as terminal from '../../../libs/runs/src/terminal.ts';
import * as sandboxes from '../../../libs/sandboxes/src/sandbox.decider.ts';
import * as sandbox from '../../../libs/sandboxes/src/sandbox.ts';
import * as sessions from '../../../libs/sessions/src/session.decider.ts';
import { evolve as evolveSession } from '../../../libs/sessions/src/session.evolve.ts';
import type { SessionCommand } from '../../../libs/sessions/src/session.commands.ts';
import type { SessionState } from '../../../libs/sessions/src/session.ts';

/** What each aggregate is called in the name of a stream, with its commands and its state. */
export interface Aggregates {
  session: { command: SessionCommand; state: SessionState };
  sandbox: { command: sandboxes.SandboxCommand; state: sandbox.SandboxState };
  checkpoint: { command: checkpoints.CheckpointCommand; state: checkpoint.CheckpointState };
  run: { command: runs.RunCommand; state: run.RunState };
  terminal: { command: terminals.TerminalCommand; state: terminal.TerminalState };
}
export type AggregateName = keyof Aggregates;

/** The pure functions, seen without their types: the log holds all five side by side. */
interface Decider {
  decide(state: unknown, command: unknown): AnyEvent[];
  evolve(state: unknown, event: unknown): unknown;
}

const DECIDERS = {
  session: { decide: sessions.decide, evolve: evolveSession },
  sandbox: { decide: sandboxes.decide, evolve: sandbox.evolve },
  checkpoint: { decide: checkpoints.decide, evolve: checkpoint.evolve },
  run: { decide: runs.decide, evolve: run.evolve },
  terminal: { decide: terminals.decideTerminal, evolve: terminal.evolveTerminal },
} as unknown as Record<AggregateName, Decider>;

export interface Recorded {
  stream: string;
  aggregate: AggregateName;
  id: string;
  /** 1, 2, 3, ... within the stream. */
  version: number;
  event: AnyEvent;
}

/** The one log in memory: decide, hold to the contract, fold, append. */
export class SimLog {
  readonly all: Recorded[] = [];
  readonly streams = new Map<string, Recorded[]>();
  private readonly states = new Map<string, unknown>();

  state<A extends AggregateName>(aggregate: A, id: string): Aggregates[A]['state'] {
    return (this.states.get(`${aggregate}/${id}`) ?? null) as Aggregates[A]['state'];
  }

  /** Events as a reader gets them: through JSON, and only if they keep to their contract. */
  execute<A extends AggregateName>(
    aggregate: A,
    id: string,
    command: Aggregates[A]['command'],
  ): Recorded[] {
    const stream = `${aggregate}/${id}`;
    const { decide, evolve } = DECIDERS[aggregate];
    const decided = decide(this.states.get(stream) ?? null, command);
    const records = this.streams.get(stream) ?? [];
    this.streams.set(stream, records);
    return decided.map((event) => {
      const data = JSON.parse(JSON.stringify(event.data)) as object;
      validateEvent(event.type, data);
      this.states.set(stream, evolve(this.states.get(stream) ?? null, event));
      const version = records.length + 1;
      const recorded = { stream, aggregate, id, version, event: { ...event, data } as AnyEvent };
      records.push(recorded);
      this.all.push(recorded);
      return recorded;
    });
  }

  /** The state that the log alone gives, as after a restart. */
  replay(stream: string): unknown {
    const records = this.streams.get(stream) ?? [];
    const aggregate = records[0]?.aggregate ?? 'session';
    return records.reduce((state: unknown, r) => DECIDERS[aggregate].evolve(state, r.event), null);
  }

  live(stream: string): unknown {
    return this.states.get(stream) ?? null;
  }
}
