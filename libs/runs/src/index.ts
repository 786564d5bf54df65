export { decide } from './run.decider.ts';
export { RunsModule, type RunsOptions } from './run.module.ts';
export { runPolicy } from './run.policy.ts';
export { evolve, initialState, type Run, type RunState } from './run.ts';
