import type { Changes } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Output } from '../../output/output.ts';
import { agoText } from '../../output/quantities.ts';
import { harmless } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const changesCommand = defineCommand({
  path: ['session', 'changes'],
  summary: 'Show what a session changed',
  description: 'Read from the sandbox or, when there is none, from the newest checkpoint.',
  args: SESSION_ARGUMENT,
  flags: {
    diff: { kind: 'switch', help: 'print the differences, not the list of files', short: 'd' },
    checkpoint: { kind: 'text', value: 'ID', help: 'as this checkpoint has it' },
  },
  examples: ['hangar session changes csv-fix', 'hangar session changes csv-fix --diff | less'],
  json: '{source, taken_at, base, files: [{path, status, area, binary, diff}]}',
  routes: ['GET /api/sessions/{ref}/changes'],
  async run({ args, flags, client, output, terminal }) {
    const query = flags.checkpoint === undefined ? {} : { checkpoint: flags.checkpoint };
    const changes = await client.sandboxes.changes(args.session, query);
    output.result(changes, () => {
      if (flags.diff) showDiffs(output, changes);
      else output.table(COLUMNS, changes.files, 'No changes.');
      const { source, taken_at } = changes;
      const when = source === 'sandbox' ? 'now' : agoText(taken_at, terminal.now());
      if (output.isTty) output.note(`from the ${source}, ${when}`);
      if (changes.truncated) output.note('There is more than this view holds.');
    });
    return EXIT.ok;
  },
});

type File = Changes['files'][number];

const COLUMNS: Column<File>[] = [
  { title: 'STATUS', show: (file) => file.status },
  { title: 'AREA', show: (file) => file.area },
  { title: 'PATH', show: (file) => file.path, tone: () => 'strong' },
];

function showDiffs(output: Output, changes: Changes): void {
  for (const file of changes.files) {
    const text =
      file.diff ?? `${file.status} ${file.path} (${file.binary ? 'binary' : 'too long'})`;
    for (const line of text.replace(/\n$/, '').split('\n')) {
      output.line(output.isTty ? colouredLine(output, harmless(line)) : line);
    }
  }
}

function colouredLine({ paint }: Output, line: string): string {
  if (/^(\+\+\+|---|diff )/.test(line)) return paint('strong', line);
  if (line.startsWith('+')) return paint('good', line);
  if (line.startsWith('-')) return paint('bad', line);
  return line.startsWith('@@') ? paint('busy', line) : line;
}
