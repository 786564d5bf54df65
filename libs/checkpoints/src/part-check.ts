import type { Readable } from 'node:stream';
import type { CheckpointMeta, PartEntry } from './tool/contract.ts';

export interface PartRules {
  conversationDirectories: readonly string[];
  unpackedBytesMax: number;
}

/** Placeholder until the archive checks are wired. */
export function checkPart(_part: PartEntry, body: Readable, _rules: PartRules): Readable {
  return body;
}

export async function readMeta(body: Readable): Promise<CheckpointMeta> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as CheckpointMeta;
}
