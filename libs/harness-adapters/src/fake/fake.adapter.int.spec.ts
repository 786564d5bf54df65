import { join } from 'node:path';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import type { HarnessSetting } from '../testing/harness-bench.ts';
import { fakeAdapter } from './fake.adapter.ts';

const setting = async (): Promise<HarnessSetting> => ({
  adapter: fakeAdapter,
  harnessRoot: '',
  model: null,
  homesDirectory: join(import.meta.dirname, '../../../../.hangar/test-homes'),
  scripted: null,
  envVars: (_url, key) => ({ FAKE_KEY: key }),
  saysResetTime: true,
});

describeHarnessAdapter('fake', setting, { model: false });
