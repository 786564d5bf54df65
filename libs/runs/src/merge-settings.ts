import { buffer } from 'node:stream/consumers';
import { HangarError } from '@hangar/contracts';
import { settingsText } from '@hangar/harness-adapters';
import type { SandboxFiles, SandboxRef } from '@hangar/sandbox-drivers';

/** A file of settings that is larger is none that a CLI wrote. */
const SETTINGS_BYTES_MAX = 4 * 1024 * 1024;

/** Sets values in a JSON file of the sandbox; what else is in it stays. */
export async function mergeSettings(
  files: SandboxFiles,
  ref: SandboxRef,
  path: string,
  values: object,
): Promise<void> {
  const file = await files.get(ref, path);
  if (file && file.size > SETTINGS_BYTES_MAX) {
    file.body.destroy();
    throw new HangarError('conflict', `${path} is larger than settings are`);
  }
  const before = file ? (await buffer(file.body)).toString('utf8') : null;
  await files.put(ref, path, Buffer.from(settingsText(before, values)), { mode: 0o600 });
}
