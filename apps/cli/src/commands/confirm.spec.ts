import { describe, expect, it } from '@jest/globals';
import { nothing, startFakeServer } from '../testing/fake-server.ts';
import { runCommand, type Ran, type RunSetting } from '../testing/run-command.ts';
import { session } from '../testing/sample-documents.ts';

const DESTRUCTIVE = [
  'session delete csv-fix',
  'session archive csv-fix',
  'session suspend csv-fix --force',
  'env delete web',
  'secret delete NPM_TOKEN',
  'token revoke tok-0a0b0c0d',
];

async function run(line: string, setting: RunSetting): Promise<Ran & { asked: number }> {
  const server = await startFakeServer({
    'DELETE /api/sessions/csv-fix': nothing,
    'POST /api/sessions/csv-fix/archive': session(),
    'POST /api/sessions/csv-fix/suspend': session(),
    'DELETE /api/environments/web': nothing,
    'DELETE /api/secrets/NPM_TOKEN': nothing,
    'DELETE /api/tokens/tok-0a0b0c0d': nothing,
  });
  const ran = await runCommand(line.split(' '), { url: server.url, ...setting });
  await server.close();
  return { ...ran, asked: server.asked.length };
}

describe.each(DESTRUCTIVE)('%s', (line) => {
  it('is done when the person says yes', async () => {
    const ran = await run(line, { tty: true, answer: 'y' });
    expect(ran).toMatchObject({ code: 0, asked: 1 });
    expect(ran.questions).toEqual([expect.stringMatching(/\? .*\[y\/N\] $/)]);
  });

  it.each(['', 'n', 'yesterday'])('is not done when the person says "%s"', async (answer) => {
    expect(await run(line, { tty: true, answer })).toMatchObject({ code: 2, asked: 0, out: '' });
  });

  it('is refused where nobody can be asked', async () => {
    const ran = await run(line, {});
    expect(ran).toMatchObject({ code: 2, asked: 0, questions: [] });
    expect(ran.err).toMatch(/Not confirmed.*\nkept: +Nothing was changed\.\nnext: +Add --yes/);
  });

  it('is done without a question with --yes', async () => {
    expect(await run(`${line} --yes`, {})).toMatchObject({ code: 0, asked: 1, questions: [] });
  });
});

describe('session suspend', () => {
  it('asks nothing without --force: the work is saved first', async () => {
    expect(await run('session suspend csv-fix', {})).toMatchObject({ code: 0, questions: [] });
  });
});
