/** Conversation files straight from this machine's disk, as a sandbox driver gives them. */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ConversationFiles } from '../harness-adapter.ts';
import { isJson } from '../json-line.ts';

// Not `instanceof Error`: a test's realm has an Error of its own.
const isMissing = (error: unknown): boolean => isJson(error) && error['code'] === 'ENOENT';

export const diskConversationFiles: ConversationFiles = {
  async list(directory) {
    try {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map((entry) => join(entry.parentPath, entry.name));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  },
  async write(path, bytes) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  },
};
