/** The suite's setting for a real harness: installed on demand, with a scripted model. */
import { join } from 'node:path';
import type { HarnessAdapter } from '../harness-adapter.ts';
import { installHarness } from '../install.ts';
import type { HarnessSetting, ScriptedModel } from './harness-bench.ts';

/** What the suite needs of a model server's log; the tool of that name gives it. */
export interface ModelLog {
  url: string;
  setKey(key: string, isAccepted: boolean): void;
  requests(): { tools: number; key: string; userTexts: string[]; toolResults: string[] }[];
}

const ROOT = join(import.meta.dirname, '../../../..');
/** Where harnesses are installed for tests, when not where the end-to-end tests have them. */
export const HARNESS_DIRECTORY_VARIABLE = 'HANGAR_HARNESS_DIRECTORY';

export async function realHarness(
  adapter: HarnessAdapter,
  log: ModelLog,
  own: Pick<HarnessSetting, 'model' | 'envVars' | 'limitEnvVars' | 'saysResetTime' | 'keyVariable'>,
): Promise<HarnessSetting> {
  const directory = process.env[HARNESS_DIRECTORY_VARIABLE] ?? join(ROOT, 'tmp/harnesses');
  await installHarness(adapter.name, directory, (line) => process.stderr.write(`${line}\n`));
  return {
    adapter,
    harnessRoot: directory,
    homesDirectory: join(ROOT, '.hangar/test-homes'),
    scripted: scriptedModel(log),
    ...own,
  };
}

function scriptedModel(log: ModelLog): ScriptedModel {
  const asked = (): ReturnType<ModelLog['requests']> =>
    log.requests().filter(({ tools }) => tools > 0);
  return {
    url: log.url,
    newestUserTexts: () => asked().at(-1)?.userTexts ?? [],
    sentTexts: () =>
      asked().flatMap(({ userTexts, toolResults }) => [...userTexts, ...toolResults]),
    hasRequests: () => asked().length > 0,
    keys: () => asked().map(({ key }) => key),
    refuse: (key) => log.setKey(key, false),
    accept: (key) => log.setKey(key, true),
  };
}
