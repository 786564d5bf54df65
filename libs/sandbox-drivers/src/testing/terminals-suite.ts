import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SCROLLBACK_BYTES_MAX, TERMINALS_MAX, type TerminalView } from '../sandbox-driver.ts';
import { until, type SuiteContext } from './suite-context.ts';

/** Collects what a terminal prints, so that a test can wait for a part of it. */
const watch = (view: TerminalView): { saw: (text: string) => Promise<void>; all: () => string } => {
  let printed = '';
  view.output.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  return {
    saw: (text) => until(`the terminal shows ${text}`, async () => printed.includes(text)),
    all: () => printed,
  };
};

const SIZE = { cols: 90, rows: 33 };

export const describeTerminals = (context: SuiteContext): void => {
  const terminals = () => context.driver.terminals;
  const open = async (argv = ['bash', '--norc', '-i']): Promise<string> => {
    const id = `trm-${randomBytes(4).toString('hex')}`;
    await terminals().open(context.ref, id, { argv, ...SIZE, envVars: { PS1: '$ ' } });
    return id;
  };
  const attach = (id: string, from = 0, size: typeof SIZE | null = SIZE): Promise<TerminalView> =>
    terminals().attach(context.ref, id, { from, size });
  const type = (view: TerminalView, line: string): Promise<void> =>
    view.write(Buffer.from(`${line}\n`));
  const statusOf = async (id: string) =>
    (await terminals().list(context.ref)).find((each) => each.id === id);
  const close = (id: string): Promise<void> => terminals().close(context.ref, id);

  describe('terminals', () => {
    it('has a size, which can change', async () => {
      const id = await open();
      const view = await attach(id);
      const screen = watch(view);
      await type(view, 'stty size; echo re""ady');
      await screen.saw('33 90');
      await screen.saw('ready\r');
      await view.resize(120, 40);
      await type(view, 'stty size');
      await screen.saw('40 120');
      await type(view, 'exit 3');
      expect(await view.exit).toEqual({ kind: 'exited', code: 3 });
      expect(await statusOf(id)).toMatchObject({ exit: { kind: 'exited', code: 3 } });
      await close(id);
    });

    it('goes on without a viewer, and shows what it printed meanwhile, each byte once [X8]', async () => {
      const id = await open();
      const first = await attach(id);
      const before = watch(first);
      await type(first, 'echo be""fore; read line; for i in 1 2 3; do echo "$line $i"; done');
      await before.saw('before\r');
      await first.write(Buffer.from('meanwhile\n'));
      await first.detach();
      const seen = Buffer.byteLength(before.all());
      await until('it printed on', async () => ((await statusOf(id))?.printed ?? 0) >= seen + 33);
      const second = await attach(id, seen);
      expect(second.offset).toBe(seen);
      const after = watch(second);
      await type(second, 'exit');
      await second.exit;
      const whole = watch(await attach(id));
      await until(
        'all of it',
        async () => whole.all().length >= (before.all() + after.all()).length,
      );
      expect(whole.all()).toBe(before.all() + after.all());
      expect(whole.all()).toContain('meanwhile 3');
      await close(id);
    });

    it('several see the same; the size is that of the one who did something last', async () => {
      const id = await open();
      const wide = await attach(id, 0, { cols: 100, rows: 40 });
      const sizes: string[] = [];
      wide.onResize(({ cols, rows }) => sizes.push(`${cols}x${rows}`));
      const first = watch(wide);
      const narrow = await attach(id, 0, { cols: 40, rows: 20 });
      const second = watch(narrow);
      await type(narrow, 'echo sh""ared; stty size');
      for (const screen of [first, second]) await screen.saw('shared\r\n20 40');
      expect(await statusOf(id)).toMatchObject({ viewers: 2, cols: 40, rows: 20, exit: null });
      await type(wide, 'stty size');
      for (const screen of [first, second]) await screen.saw('40 100');
      await wide.detach();
      await type(narrow, 'stty size; echo al""one');
      await second.saw('20 40\r\nalone');
      expect(sizes).toEqual(['40x20', '100x40']);
      await close(id);
    });

    it('one that only watches is not counted, and has no say in the size', async () => {
      const id = await open();
      const watcher = await attach(id, Number.MAX_SAFE_INTEGER, null);
      watcher.output.resume();
      expect(await statusOf(id)).toMatchObject({ viewers: 0, ...SIZE });
      const view = await attach(id);
      await type(view, 'exit 5');
      view.output.resume();
      expect(await watcher.exit).toEqual({ kind: 'exited', code: 5 });
      await close(id);
    });

    it('keeps the newest of a large output, and says where that begins', async () => {
      const id = await open(['sh', '-c', 'seq 1 400000; echo e""nd; read x']);
      await until('it printed all', async () => ((await statusOf(id))?.printed ?? 0) > 3_088_000);
      const view = await attach(id, 100);
      const { printed } = (await statusOf(id))!;
      expect(view.offset).toBeGreaterThanOrEqual(printed - SCROLLBACK_BYTES_MAX);
      const screen = watch(view);
      await screen.saw('end\r\n');
      expect(screen.all()).toMatch(/^\d{6}\r\n/);
      const lines = screen.all().trim().split('\r\n').slice(0, -1).map(Number);
      expect(lines.at(-1)).toBe(400000);
      expect(lines).toEqual(lines.map((_, index) => lines[0]! + index));
      await close(id);
    });

    it('a slow viewer loses nothing: the shell waits for it, also at its end', async () => {
      const id = await open(['sh', '-c', 'read x; seq 1 400000']);
      const view = await attach(id);
      await type(view, 'go');
      let text = '';
      let chunks = 0;
      for await (const chunk of view.output) {
        text += (chunk as Buffer).toString();
        if (++chunks <= 10) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await view.exit).toEqual({ kind: 'exited', code: 0 });
      expect(text.trim().split('\r\n').slice(1)).toHaveLength(400000);
      await close(id);
    });

    it('Ctrl-C interrupts the foreground job and not the shell', async () => {
      const id = await open();
      const view = await attach(id);
      const screen = watch(view);
      await type(view, 'echo st""art; sleep 5101');
      await screen.saw('start\r');
      await until('it sleeps', async () => (await context.sh('pgrep -f "^sleep 5101"')).out !== '');
      await view.write(Buffer.from([3]));
      await type(view, 'echo code=$?');
      await screen.saw('code=130');
      await close(id);
      expect(['exited', 'signalled']).toContain((await view.exit).kind);
    });

    it('closing ends what runs in it, and forgets it', async () => {
      const id = await open(['sh', '-c', 'trap "" HUP; echo up; sleep 5201; sleep 5202']);
      const view = await attach(id);
      const screen = watch(view);
      await screen.saw('up');
      await close(id);
      expect((await context.sh('pgrep -f "^sleep 520[12]" || true')).out).toBe('');
      expect(await statusOf(id)).toBeUndefined();
      await close(id);
      await expect(attach(id)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('a second start with the same id is quiet, also at the same time', async () => {
      const id = `trm-${randomBytes(4).toString('hex')}`;
      const request = { argv: ['sh', '-c', 'echo once; read x'], ...SIZE };
      const start = () => terminals().open(context.ref, id, request);
      await Promise.all([start(), start()]);
      await start();
      const screen = watch(await attach(id));
      await screen.saw('once\r\n');
      expect(screen.all()).toBe('once\r\n');
      await close(id);
    });

    it('says why it did not start', async () => {
      await expect(open(['no-such-shell'])).rejects.toMatchObject({ code: 'invalid' });
    });

    it('is refused above the bound; ended ones make room', async () => {
      const ids: string[] = [];
      while (ids.length < TERMINALS_MAX) ids.push(await open(['cat']));
      await expect(open(['cat'])).rejects.toMatchObject({ code: 'exhausted' });
      const view = await attach(ids[3]!);
      view.output.resume();
      await view.write(Buffer.from([4]));
      await view.exit;
      ids.push(await open(['cat']));
      expect(await statusOf(ids[3]!)).toBeUndefined();
      for (const id of ids) await close(id);
      expect(await terminals().list(context.ref)).toEqual([]);
    });
  });
};
