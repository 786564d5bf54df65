export { decide } from './session.decider.ts';
export { evolve } from './session.evolve.ts';
export { SessionsModule, type SessionsOptions } from './session.module.ts';
export { sessionPolicy } from './session.policy.ts';
export { heldSandbox, initialState, type Session, type SessionState } from './session.ts';
export type { SessionCommand, SessionCommands } from './session.commands.ts';
export { wantedTimers, type SessionSettings } from './session.timers.ts';
