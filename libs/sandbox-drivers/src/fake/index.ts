export { FakeTerminal } from './fake-terminal.ts';
export {
  createFakeDriver,
  type FakeDriver,
  type FakeDriverOptions,
  type FakeExec,
  type FakeExecResult,
} from './driver.ts';
export { FakeFiles } from './fake-files.ts';
export { FakeRun } from './fake-run.ts';
