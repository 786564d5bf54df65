import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, files } from './checkout.ts';
import { protoFiles, type ProtoFile, type ProtoMessage } from './proto-files.ts';

const INTRODUCTION = `# Events

Made by \`node tools/gen-events.ts\` from \`proto/hangar/v1\`; change it there. How an event travels, in
the log, on the bus and over HTTP, is on the page [envelope.md](envelope.md).

\`data\` is JSON with the names below. Every field is present, unless it is optional: then it is left
out when there is nothing to say. Times are RFC 3339 in UTC, sizes are bytes, money is US dollars.
An event's version counts the changes of its shape; the files of
\`libs/contracts/fixtures\` hold one of each version, for ever. "Policies" names the libs that react.
`;

/** The file whose messages are no events but shapes that events share. */
const SHAPES = 'hangar/v1/common.proto';

/** Event types by name -> the libs whose policy has a case for them. */
function reactions(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of files('libs/*/src/*.policy.ts')) {
    const lib = file.split('/')[1] ?? '';
    for (const [, event = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(/case '(\w+)'/g))
      found.set(event, [...(found.get(event) ?? []), lib]);
  }
  return found;
}

/** The newest version of which there is a fixture. */
function versionOf(event: string, fixtures: readonly string[]): number {
  const versions = fixtures
    .map((file) => new RegExp(`/${event}\\.v(\\d+)\\.json$`).exec(file)?.[1])
    .filter((version) => version !== undefined)
    .map(Number);
  if (versions.length === 0) throw new Error(`${event} has no fixture in libs/contracts/fixtures`);
  return Math.max(...versions);
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function fieldTable({ fields }: ProtoMessage): string[] {
  const rows = fields.map(({ name, type, optional, comment }) => {
    const meaning = [optional ? 'Optional.' : '', comment].filter((part) => part !== '').join(' ');
    return `| \`${name}\` | ${type} | ${cell(meaning)} |`;
  });
  return ['| Field | JSON | |', '| --- | --- | --- |', ...rows, ''];
}

const heading = (file: ProtoFile): string =>
  (file.path.split('/').at(-1) ?? '').split('.')[0] ?? '';

function eventSections(file: ProtoFile): string[] {
  const fixtures = files('libs/contracts/fixtures');
  const readers = reactions();
  const lines = [`## ${heading(file)}`, '', file.comment, ''];
  for (const message of file.messages) {
    const policies = readers.get(message.name);
    const facts = [`Version ${versionOf(message.name, fixtures)}.`];
    if (policies) facts.push(`Policies: ${policies.join(', ')}.`);
    lines.push(`### ${message.name}`, '');
    if (message.comment) lines.push(message.comment, '');
    lines.push(facts.join(' '), '', ...fieldTable(message));
  }
  return lines;
}

function shapeSections(file: ProtoFile): string[] {
  const lines = ['## Shapes', ''];
  for (const message of file.messages) {
    lines.push(`### ${message.name}`, '');
    if (message.comment) lines.push(message.comment, '');
    lines.push(...fieldTable(message));
  }
  return lines;
}

/** The hub first, then the spokes in the order of their names, then what they share. */
export function eventsPage(): string {
  const all = protoFiles('hangar.v1');
  const shapes = all.filter((file) => file.path === SHAPES);
  const events = all
    .filter((file) => file.path !== SHAPES)
    .toSorted((a, b) => Number(heading(b) === 'session') - Number(heading(a) === 'session'));
  return [INTRODUCTION, ...events.flatMap(eventSections), ...shapes.flatMap(shapeSections)].join(
    '\n',
  );
}
