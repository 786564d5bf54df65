import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeCredentials } from './credentials-suite.ts';
import { describeExec } from './exec-suite.ts';
import { describeFiles, describeFileSystem } from './files-suite.ts';
import { describeLifecycle } from './lifecycle-suite.ts';
import { describeRuns } from './runs-suite.ts';
import { describeTerminals } from './terminals-suite.ts';
import { SuiteContext, type DriverFactory } from './suite-context.ts';

/**
 * What every driver must do. `processes: false` is for a fake, which runs no real programs: it
 * passes the parts about sandboxes and files.
 */
export const describeSandboxDriver = (
  name: string,
  factory: DriverFactory,
  options: { processes: boolean } = { processes: true },
): void => {
  describe(`sandbox driver: ${name}`, () => {
    const context = new SuiteContext(factory);
    beforeAll(() => context.open());
    afterAll(() => context.close());
    describeLifecycle(context);
    describeFiles(context);
    if (!options.processes) return;
    describeFileSystem(context);
    describeExec(context);
    describeRuns(context);
    describeTerminals(context);
    describeCredentials(context);
  });
};
