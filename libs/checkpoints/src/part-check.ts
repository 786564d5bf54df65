import { PassThrough, Transform, pipeline, type Readable } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import { ArchiveRefused } from './archive/archive-refused.ts';
import { readBundleHeader } from './archive/bundle-header.ts';
import { parseMeta } from './archive/meta.ts';
import { checkTarPart, rulesOf } from './archive/part-rules.ts';
import { ToolRefusal } from './sandbox-tool.ts';
import type { CheckpointMeta, PartEntry } from './tool/contract.ts';

export interface PartRules {
  conversationDirectories: readonly string[];
  unpackedBytesMax: number;
}

const META_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Passes a part on while every header in it is read (R10): the control plane unpacks nothing, and
 * ends the stream with an error before its last byte if anything in it would reach where it may not.
 */
export function checkPart(part: PartEntry, body: Readable, rules: PartRules): Readable {
  const check = checkOf(part, rules);
  if (!check) return body;
  const seen = new PassThrough();
  // Only the check's verdict counts; a source that breaks is the other pipeline's error.
  seen.on('error', () => undefined);
  const verdict = check(seen).then(
    () => null,
    (error: unknown) => asRefusal(part, error),
  );
  const tee = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (seen.destroyed || seen.write(chunk)) return done(null, chunk);
      const go = (): void => {
        seen.off('drain', go);
        seen.off('close', go);
        done(null, chunk);
      };
      seen.on('drain', go);
      seen.on('close', go);
    },
    // The last byte is only let go when the verdict is there.
    final(done) {
      seen.end();
      void endWith(verdict, done);
    },
  });
  void verdict.then((refusal) => {
    if (refusal) tee.destroy(refusal);
    // A check that read all it needs lets the rest pass.
    else seen.resume();
  });
  pipeline(body, tee, (error) => {
    if (error) seen.destroy(error);
  });
  return tee;
}

async function endWith(
  verdict: Promise<Error | null>,
  done: (error: Error | null) => void,
): Promise<void> {
  done(await verdict);
}

function checkOf(
  part: PartEntry,
  rules: PartRules,
): ((source: Readable) => Promise<unknown>) | null {
  switch (part.name) {
    case 'agent.tgz':
    case 'untracked.tgz':
    case 'nested':
    case 'lfs': {
      const tarRules = rulesOf(part.name, rules);
      return (source) => checkTarPart(source, tarRules);
    }
    case 'meta.json':
      return (source) => readMeta(source);
    case 'repo.bundle':
      return (source) => readBundleHeader(source);
    default:
      return null;
  }
}

function asRefusal(part: PartEntry, error: unknown): ToolRefusal {
  const code = error instanceof ArchiveRefused ? error.code : 'corrupt';
  return new ToolRefusal(
    code,
    `${part.name}: ${error instanceof Error ? error.message : 'damaged'}`,
  );
}

/** meta.json, checked field by field: it names refs and paths that the restore acts on. */
export async function readMeta(body: Readable): Promise<CheckpointMeta> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).byteLength;
    if (size > META_BYTES_MAX) throw new HangarError('invalid', 'meta.json is too large');
    chunks.push(chunk as Buffer);
  }
  return parseMeta(Buffer.concat(chunks).toString('utf8'));
}
