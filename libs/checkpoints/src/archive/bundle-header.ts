import { ArchiveRefused } from './archive-refused.ts';
import { isObjectId, isRefName } from './ref-names.ts';

/** The text in front of a bundle's pack (gitformat-bundle). No object is looked at. */
export interface BundleHeader {
  version: 2 | 3;
  objectFormat: 'sha1' | 'sha256';
  prerequisites: string[];
  refs: { id: string; name: string }[];
}

/** A session with 50,000 refs needs about 5 MB. */
const HEADER_BYTES_MAX = 16 * 1024 * 1024;

/** Reads only as much of the part as the header is long. Throws ArchiveRefused. */
export async function readBundleHeader(source: AsyncIterable<Uint8Array>): Promise<BundleHeader> {
  let head: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\n\n');
    if (end >= 0) return parseBundleHeader(head.toString('latin1', 0, end));
    if (head.length > HEADER_BYTES_MAX) break;
  }
  throw new ArchiveRefused('corrupt', 'repo.bundle has no header');
}

export function parseBundleHeader(text: string): BundleHeader {
  const [signature, ...lines] = text.split('\n');
  const version = /^# v([23]) git bundle$/.exec(signature ?? '')?.[1];
  if (version === undefined) throw new ArchiveRefused('corrupt', 'repo.bundle is not a bundle');
  const header: BundleHeader = {
    version: version === '2' ? 2 : 3,
    objectFormat: 'sha1',
    prerequisites: [],
    refs: [],
  };
  for (const line of lines) {
    const capability = /^@(.*)$/.exec(line)?.[1];
    const prerequisite = /^-([0-9a-f]+)(?: .*)?$/.exec(line)?.[1];
    const ref = /^([0-9a-f]+) (.+)$/.exec(line);
    if (capability !== undefined) takeCapability(capability, header);
    else if (prerequisite !== undefined && isObjectId(prerequisite)) {
      header.prerequisites.push(prerequisite);
    } else if (ref && isObjectId(ref[1]!)) {
      header.refs.push({ id: ref[1]!, name: checkedRef(ref[2]!) });
    } else throw new ArchiveRefused('refused', `repo.bundle has an unknown line: ${line}`);
  }
  if (header.refs.length === 0) throw new ArchiveRefused('refused', 'repo.bundle has no refs');
  return header;
}

function takeCapability(capability: string, header: BundleHeader): void {
  if (capability === 'object-format=sha256') header.objectFormat = 'sha256';
  else if (capability !== 'object-format=sha1') {
    throw new ArchiveRefused('refused', `repo.bundle needs what is not known: ${capability}`);
  }
}

function checkedRef(name: string): string {
  if (name.startsWith('refs/hangar/') && isRefName(name)) return name;
  throw new ArchiveRefused('refused', `repo.bundle has a ref that may not be there: ${name}`);
}
