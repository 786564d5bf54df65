import { describe, expect, it } from '@jest/globals';
import type { HangarError } from '@hangar/contracts';
import { keepUp } from './kept-up.ts';

/** A server that a test ends; `fails` makes the next starts fail. */
function fakeServers(fails = 0) {
  const ports: number[] = [];
  const waiting: (() => void)[] = [];
  let end = (): void => undefined;
  let left = 0;
  return {
    ports,
    failNext: () => (left = fails),
    end: () => end(),
    started: (count: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => (ports.length >= count ? resolve() : void waiting.push(look));
        look();
      }),
    start: async (port: number) => {
      ports.push(port);
      for (const look of waiting.splice(0)) look();
      if (left-- > 0) throw new Error('the port is taken');
      const gone = Promise.withResolvers<string>();
      end = () => gone.resolve('killed');
      return { port: port || 4242, gone: gone.promise, stop: async () => gone.resolve('asked') };
    },
  };
}

describe('a server that is kept up [O2]', () => {
  it('is started again on its port when it ends, as often as it takes', async () => {
    const fake = fakeServers(2);
    const problems: string[] = [];
    const onProblem = (problem: HangarError): void => void problems.push(problem.message);
    const kept = await keepUp('it', fake.start, onProblem);
    expect(kept.server.port).toBe(4242);
    fake.failNext();
    fake.end();
    await fake.started(4);
    expect(fake.ports).toEqual([0, 4242, 4242, 4242]);
    expect(problems).toEqual(['it ended: killed', 'the port is taken', 'the port is taken']);
    await kept.stop();
  });

  it('stays down when it is asked to stop, also between two starts', async () => {
    const fake = fakeServers();
    const kept = await keepUp('it', fake.start, () => undefined);
    await kept.stop();
    const other = await keepUp('it', fake.start, () => undefined);
    fake.end();
    await other.stop();
    expect(fake.ports).toEqual([0, 0]);
  });

  it("a first start that fails is the caller's", async () => {
    const start = () => Promise.reject(new Error('no binaries'));
    await expect(keepUp('it', start, () => undefined)).rejects.toThrow('no binaries');
  });
});
