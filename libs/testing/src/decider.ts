import { isDeepStrictEqual, inspect } from 'node:util';
import { HangarError, type ErrorCode } from '@hangar/contracts';

/** The three pure functions of an aggregate, as the tests see them. */
export interface Decider<State, Event, Command> {
  initial: State;
  evolve(state: State, event: Event): State;
  decide(state: State, command: Command): Event[];
}

export interface DeciderSpecification<State, Event> {
  /** Exactly these events, compared deeply. */
  then(...events: Event[]): void;
  /** Refused with this code, and a message for a person that contains `text`. */
  thenRefuses(code: ErrorCode, text?: string): HangarError;
  /** Accepted, and nothing is recorded: what makes a command safe to send twice. */
  thenNothing(): void;
  /** The state after the decided events, for rules about what is remembered. */
  thenState(check: (state: State) => void): void;
}

/** `given(decider, ...past).when(command).then(...)`: one sentence per rule. */
export function given<State, Event, Command>(
  decider: Decider<State, Event, Command>,
  ...past: Event[]
): { when(command: Command): DeciderSpecification<State, Event> } {
  const fold = (state: State, events: Event[]): State =>
    events.reduce((before, event) => decider.evolve(before, event), state);
  return {
    when: (command) => {
      const state = fold(decider.initial, past);
      const decide = (): Event[] => decider.decide(state, command);
      return {
        // oxlint-disable-next-line unicorn/no-thenable -- the sentence is given, when, then.
        then: (...events) => expectEqual(decide(), events),
        thenNothing: () => expectEqual(decide(), []),
        thenRefuses: (code, text) => expectRefusal(decide, code, text),
        thenState: (check) => check(fold(state, decide())),
      };
    },
  };
}

function expectEqual(found: unknown, wanted: unknown): void {
  if (isDeepStrictEqual(found, wanted)) return;
  throw new Error(`decided ${show(found)}\ninstead of ${show(wanted)}`);
}

function expectRefusal(decide: () => unknown, code: ErrorCode, text = ''): HangarError {
  let decided: unknown;
  try {
    decided = decide();
  } catch (error) {
    const isMeant = error instanceof HangarError && error.code === code;
    if (isMeant && error.message.includes(text)) return error;
    throw new Error(`refused otherwise than with ${code} "${text}"`, { cause: error });
  }
  throw new Error(`decided ${show(decided)} instead of refusing with ${code}`);
}

const show = (value: unknown): string => inspect(value, { depth: 10 });
