export { environmentId } from './environment.ts';
export { decide } from './sandbox.decider.ts';
export { SandboxesModule, type SandboxesOptions } from './sandbox.module.ts';
export { sandboxPolicy } from './sandbox.policy.ts';
export { evolve, initialState, type Sandbox, type SandboxState } from './sandbox.ts';
