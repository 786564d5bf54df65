// The event contracts against those of the main branch: a change that old readers or the log
// would not survive fails. The generated code and the page of events must be what the protos say.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const run = (command: string, args: string[]): { ok: boolean; text: string } => {
  const r = spawnSync(command, args, { encoding: 'utf8' });
  return { ok: r.status === 0, text: `${r.stdout}${r.stderr}` };
};
const fail = (text: string): void => {
  process.stdout.write(`${text}\n`);
  process.exitCode = 1;
};

const base = ['origin/main', 'main'].find(
  (ref) => run('git', ['cat-file', '-e', `${ref}:proto`]).ok,
);
if (base) {
  const breaking = run('buf', ['breaking', '--against', `.git#ref=${base},subdir=proto`]);
  if (!breaking.ok) fail(`breaking change against ${base}:\n${breaking.text}`);
}

const scratch = mkdtempSync(join(tmpdir(), 'hangar-gen-'));
try {
  const template = join(scratch, 'buf.gen.yaml');
  const text = readFileSync('buf.gen.yaml', 'utf8').replace('libs/contracts/src/gen', scratch);
  writeFileSync(template, text.replace('clean: true', 'clean: false'));
  const generated = run('buf', ['generate', '--template', template]);
  if (!generated.ok) fail(generated.text);
  const files = (readdirSync(scratch, { recursive: true }) as string[]).filter((f) =>
    f.endsWith('_pb.ts'),
  );
  for (const file of files) {
    const now = readFileSync(join('libs/contracts/src/gen', file), 'utf8');
    if (now !== readFileSync(join(scratch, file), 'utf8'))
      fail(`libs/contracts/src/gen/${file} is not what the protos say: npm run gen`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

const page = run('node', ['tools/gen-events.ts', '--check']);
if (!page.ok) fail(page.text);
