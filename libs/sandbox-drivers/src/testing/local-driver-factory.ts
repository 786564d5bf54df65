import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalDriver } from '../local/index.ts';
import type { DriverUnderTest } from './suite-context.ts';
import { buildToolsDirectory } from './tools-directory.ts';

/** A local driver over a state directory and tools of its own; both go with `close`. */
export const openLocalDriver = async (
  isolation: 'auto' | 'none',
): Promise<DriverUnderTest & { stateDirectory: string; toolsDirectory: string }> => {
  const toolsDirectory = await buildToolsDirectory();
  const stateDirectory = await mkdtemp(join(tmpdir(), 'hangar-state-'));
  const nodeBinary = process.execPath;
  return {
    driver: createLocalDriver({ stateDirectory, toolsDirectory, nodeBinary, isolation }),
    stateDirectory,
    toolsDirectory,
    async close() {
      await rm(stateDirectory, { recursive: true, force: true });
      await rm(toolsDirectory, { recursive: true, force: true });
    },
  };
};
