export { diskConversationFiles } from './disk-conversation-files.ts';
export { describeHarnessAdapter } from './harness-adapter.suite.ts';
export { type HarnessSetting, type ScriptedModel } from './harness-bench.ts';
export { HarnessHome } from './harness-home.ts';
export { HarnessProcess, type FinishedTurn } from './harness-process.ts';
