import { afterAll, beforeAll } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describeHarnessAdapter } from '../testing/harness-adapter.suite.ts';
import type { HarnessSetting } from '../testing/harness-bench.ts';
import { harnessProgram } from '../versions.ts';
import { antigravityAdapter } from './antigravity.adapter.ts';

const HANGAR = join(import.meta.dirname, '../../../../.hangar');
const FAKE = join(import.meta.dirname, '../testing/fake-agy.mjs');

let harnessRoot: string;
beforeAll(async () => {
  await mkdir(HANGAR, { recursive: true });
  harnessRoot = await mkdtemp(join(HANGAR, 'agy-'));
  const program = harnessProgram('antigravity', harnessRoot);
  await mkdir(dirname(program), { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' --no-warnings '${FAKE}' "$@"\n`;
  await writeFile(program, script, { mode: 0o755 });
});
afterAll(() => rm(harnessRoot, { recursive: true, force: true }));

/** Against a program that does what is said of `agy`, for `agy` itself needs somebody to sign in. */
const setting = async (): Promise<HarnessSetting> => ({
  adapter: antigravityAdapter,
  harnessRoot,
  model: null,
  homesDirectory: join(HANGAR, 'test-homes'),
  scripted: null,
  envVars: (_url, key) => ({ SOME_KEY: key }),
  saysResetTime: false,
  saysRetries: false,
});

describeHarnessAdapter('antigravity', setting, { model: false, repairs: false });
