import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeOnSignal } from './close-on-signal.ts';

const CHILD = fileURLToPath(new URL('./close-on-signal.child.ts', import.meta.url));

describe('closeOnSignal', () => {
  let child: ChildProcess | undefined;
  afterEach(() => {
    child?.kill('SIGKILL');
  });

  async function signalled(
    what: string,
    ...signals: NodeJS.Signals[]
  ): Promise<{ code: number | null; closed: string[]; stderr: string }> {
    child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, what], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const closed: string[] = [];
    const lines = createInterface(child.stdout!);
    const exit = once(child, 'close') as Promise<[number | null]>;
    // Each signal goes out when the line before it shows that the last one was taken.
    lines.on('line', (line) => {
      if (line !== 'ready') closed.push(line.replace('closing ', ''));
      if (line === 'ready' || line === 'closing middle') {
        const signal = signals.shift();
        if (signal) child?.kill(signal);
      }
    });
    const [code] = await exit;
    return { code, closed, stderr };
  }

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'closes the last first at %s, and ends with 0',
    async (s) => {
      const { code, closed, stderr } = await signalled('well', s);
      expect(closed).toEqual(['last', 'middle', 'first']);
      expect(code).toBe(0);
      expect(stderr).toBe(`${s}: closing\n`);
    },
  );

  it('closes the others when one fails, and ends with 1', async () => {
    const { code, closed, stderr } = await signalled('fail', 'SIGTERM');
    expect(closed).toEqual(['last', 'middle', 'first']);
    expect(code).toBe(1);
    expect(stderr).toContain('middle did not close: the middle broke');
  });

  it('ends with 1 after its time, and says what hung', async () => {
    const { code, closed, stderr } = await signalled('hang', 'SIGTERM');
    expect(closed).toEqual(['last', 'middle']);
    expect(code).toBe(1);
    expect(stderr).toContain('middle did not close within 300 ms');
  });

  it('ends at once at a second signal', async () => {
    const { code } = await signalled('hang', 'SIGTERM', 'SIGINT');
    expect(code).toBe(130);
  });

  it('takes the same signal twice in a moment as one', async () => {
    const { code, closed } = await signalled('well', 'SIGINT', 'SIGINT');
    expect(closed).toEqual(['last', 'middle', 'first']);
    expect(code).toBe(0);
  });

  it('takes its listeners off again', () => {
    const before = process.listenerCount('SIGTERM');
    const off = closeOnSignal([]);
    expect(process.listenerCount('SIGTERM')).toBe(before + 1);
    off();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
