export { decide } from './checkpoint.decider.ts';
export { exportCheckpoint } from './checkpoint.export.ts';
export { CheckpointsModule, type CheckpointsOptions } from './checkpoint.module.ts';
export { checkpointPolicy } from './checkpoint.policy.ts';
export { createCheckpointStore, type CheckpointStore } from './checkpoint.store.ts';
export { evolve, initialState, type Checkpoint, type CheckpointState } from './checkpoint.ts';
