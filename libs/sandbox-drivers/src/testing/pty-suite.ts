import { describe, expect, it } from '@jest/globals';
import type { PtyStream } from '../sandbox-driver.ts';
import { until, type SuiteContext } from './suite-context.ts';

/** Collects what a terminal prints, so that a test can wait for a part of it. */
const watch = (pty: PtyStream): { saw: (text: string) => Promise<void>; all: () => string } => {
  let printed = '';
  pty.output.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  return {
    saw: (text) => until(`the terminal shows ${text}`, async () => printed.includes(text)),
    all: () => printed,
  };
};

export const describePty = (context: SuiteContext): void => {
  const open = (argv = ['bash', '--norc', '-i']): Promise<PtyStream> =>
    context.driver.pty(context.ref, { argv, cols: 90, rows: 33, envVars: { PS1: '$ ' } });

  describe('terminals', () => {
    it('has a size, which can change', async () => {
      const pty = await open();
      const screen = watch(pty);
      await pty.write(Buffer.from('stty size; echo re""ady\n'));
      await screen.saw('33 90');
      await screen.saw('ready\r');
      await pty.resize(120, 40);
      await pty.write(Buffer.from('stty size\n'));
      await screen.saw('40 120');
      await pty.write(Buffer.from('exit 3\n'));
      expect(await pty.exit).toEqual({ kind: 'exited', code: 3 });
    });

    it('Ctrl-C interrupts the foreground job and not the shell', async () => {
      const pty = await open();
      const screen = watch(pty);
      await pty.write(Buffer.from('echo st""art; sleep 5101\n'));
      await screen.saw('start\r');
      await until('it sleeps', async () => (await context.sh('pgrep -f "^sleep 5101"')).out !== '');
      await pty.write(Buffer.from([3]));
      await pty.write(Buffer.from('echo code=$?\n'));
      await screen.saw('code=130');
      await pty.close();
      expect(['exited', 'signalled']).toContain((await pty.exit).kind);
    });

    it('closing ends what runs in it', async () => {
      const pty = await open(['sh', '-c', 'trap "" HUP; echo up; sleep 5201; sleep 5202']);
      const screen = watch(pty);
      await screen.saw('up');
      await pty.close();
      expect(screen.all()).toContain('up');
      await until('nothing is left', async () => {
        return (await context.sh('pgrep -f "^sleep 520[12]" || true')).out === '';
      });
    });

    it('says why it did not start', async () => {
      const pty = await open(['no-such-shell']);
      expect(await pty.exit).toMatchObject({ kind: 'not_started' });
    });
  });
};
