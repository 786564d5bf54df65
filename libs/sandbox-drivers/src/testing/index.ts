export { describeSandboxDriver } from './sandbox-driver.suite.ts';
export { newSpec, until, type DriverFactory, type DriverUnderTest } from './suite-context.ts';
export { buildToolsDirectory } from './tools-directory.ts';
