import { buffer } from 'node:stream/consumers';
import { HangarError } from '@hangar/contracts';
import type { SandboxFiles, SandboxRef } from '@hangar/sandbox-drivers';

/** A file of settings that is larger is none that a CLI wrote. */
const SETTINGS_BYTES_MAX = 4 * 1024 * 1024;

type Values = Record<string, unknown>;

/** Sets values in a JSON file of the sandbox; a file that cannot be read as one is written anew. */
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
  const before = file ? parsed((await buffer(file.body)).toString('utf8')) : {};
  const text = `${JSON.stringify(merged(before, values as Values), null, 2)}\n`;
  await files.put(ref, path, Buffer.from(text), { mode: 0o600 });
}

/** What is in both and has parts of its own is merged; else the new value stands. */
export function merged(before: Values, values: Values): Values {
  const result = { ...before };
  for (const [name, value] of Object.entries(values)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    result[name] = isValues(old) && isValues(value) ? merged(old, value) : value;
  }
  return result;
}

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    return isValues(value) ? value : {};
  } catch {
    return {};
  }
}
