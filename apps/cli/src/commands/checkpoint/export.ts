import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { bytesText } from '../../output/quantities.ts';
import { SESSION_ARGUMENT } from '../session/session-text.ts';
import { writeStream } from '../write-file.ts';

export const exportCommand = defineCommand({
  path: ['checkpoint', 'export'],
  summary: 'Write a checkpoint to a tar file, decrypted',
  description:
    'It holds the work and the whole conversation, which is not redacted: keep it to yourself.',
  args: {
    ...SESSION_ARGUMENT,
    checkpoint: { help: 'checkpoint id; the newest when left out', optional: true },
  },
  flags: {
    output: { kind: 'text', value: 'FILE', help: 'a new file; - is stdout (ID.tar)', short: 'o' },
  },
  examples: [
    'hangar checkpoint export csv-fix',
    'hangar checkpoint export csv-fix ckp-1a2b3c4d-2 -o - | tar tv',
  ],
  json: '{checkpoint_id, file, bytes}; nothing with -o -',
  routes: [
    'GET /api/sessions/{ref}/checkpoints/{id}/export',
    'GET /api/sessions/{ref}/checkpoints',
  ],
  async run({ args, flags, client, output, terminal }) {
    const id = args.checkpoint ?? (await client.checkpoints.list(args.session)).items.at(-1)?.id;
    if (id === undefined) {
      throw refused(`${args.session} has no checkpoint.`, 'Take one with hangar checkpoint take.');
    }
    const file = flags.output ?? `${id}.tar`;
    if (file === '-' && output.isTty) {
      throw refused('A tar file is not for a screen.', 'Name a file with -o, or use a pipe.');
    }
    const stream = await client.checkpoints.export(args.session, id);
    const bytes = await writeStream(terminal, output, file, stream);
    if (file === '-') return EXIT.ok;
    output.result({ checkpoint_id: id, file, bytes }, () =>
      output.line(
        output.isTty ? `${file}: ${id}, ${bytesText(bytes)}` : [file, id, bytes].join('\t'),
      ),
    );
    return EXIT.ok;
  },
});
