import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { bytesText } from '../../output/quantities.ts';
import { writeStream } from '../write-file.ts';
import { AUDIT_FLAGS, filterOf } from './audit-flags.ts';

export const exportCommand = defineCommand({
  path: ['audit', 'export'],
  summary: 'Write the log, one JSON event a line',
  args: {},
  flags: {
    ...AUDIT_FLAGS,
    output: { kind: 'text', value: 'FILE', help: 'a new file; stdout when left out', short: 'o' },
  },
  examples: ['hangar audit export -o audit.jsonl', 'hangar audit export --session csv-fix | gzip'],
  json: '{file, bytes} with -o FILE; else the events, one a line, as without --json',
  routes: ['GET /api/audit'],
  async run({ flags, client, output, terminal }) {
    const file = flags.output ?? '-';
    const stream = await client.audit.export(filterOf(flags));
    const bytes = await writeStream(terminal, output, file, stream);
    if (file === '-') return EXIT.ok;
    output.result({ file, bytes }, () =>
      output.line(output.isTty ? `${file}: ${bytesText(bytes)}` : [file, bytes].join('\t')),
    );
    return EXIT.ok;
  },
});
