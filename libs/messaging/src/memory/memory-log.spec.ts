import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '@hangar/testing';
import { eventSubjects } from '../jetstream/subjects.ts';
import { sampleEvent, sampleMeta, sampleValidate } from '../testing/sample.ts';
import { createMemoryLog } from './memory-log.ts';

const meta = sampleMeta();
const newLog = () => {
  const log = createMemoryLog();
  const store = log.store({ owns: ['session', 'run'], validate: sampleValidate });
  return { log, store };
};

describe('memory log', () => {
  it('applies each event once and in order under any schedule of faults', async () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = seededRandom(seed);
      const { log, store } = newLog();
      const applied: string[] = [];
      log.addConsumer({
        name: 'policy',
        filter: eventSubjects('session'),
        handle: async (event, tx) => {
          tx.onCommit(() => applied.push(`${event.stream}@${event.version}`));
          const run = [{ ...sampleEvent(1), type: 'RunRequested' }];
          const id = `${event.stream.slice(8)}-${event.version}`;
          await store.append(`run/${id}`, 0, run, { meta, tx });
        },
      });
      for (const stream of ['session/a', 'session/b']) {
        for (let n = 0; n < 5; n += 1) await store.append(stream, n, [sampleEvent(n)], { meta });
      }
      for (let step = 0; log.underWay().length > 0 && step < 500; step += 1) {
        const pick = log.underWay()[Math.floor(random() * log.underWay().length)];
        if (!pick) break;
        await log.deliver(pick, { isDuplicated: random() < 0.3, isCrashed: random() < 0.3 });
      }
      await log.settle();
      expect({ seed, n: applied.length }).toEqual({ seed, n: 10 });
      for (const stream of ['session/a', 'session/b']) {
        const mine = applied.filter((text) => text.startsWith(stream));
        expect(mine).toEqual([1, 2, 3, 4, 5].map((version) => `${stream}@${version}`));
      }
      expect((await store.load('run/a-5')).version).toBe(1);
    }
  });

  it('keeps nothing of a handler that threw', async () => {
    const { log, store } = newLog();
    log.addConsumer({
      name: 'policy',
      filter: eventSubjects(),
      handle: async (_event, tx) => {
        const effects = [{ key: 'k', kind: 'work', payload: {} }];
        const timers = [{ id: 't', dueAt: new Date(0), kind: 'idle' }];
        await store.append('run/r', 0, [sampleEvent(1)], { meta, tx, effects, timers });
        throw new Error('no');
      },
    });
    await store.append('session/a', 0, [sampleEvent(1)], { meta });
    const [message] = log.underWay();
    if (!message) throw new Error('nothing is under way');
    await expect(log.deliver(message)).rejects.toThrow('no');
    expect((await store.load('run/r')).version).toBe(0);
    expect([log.timers(), log.effects()]).toEqual([[], []]);
    expect(log.underWay()).toHaveLength(1);
  });

  it('fires timers and executes effects when it is told to', async () => {
    const { log, store } = newLog();
    await store.append('session/a', 0, [sampleEvent(1)], {
      meta,
      timers: [{ id: 't', dueAt: new Date(5), kind: 'idle' }],
      effects: [{ key: 'k', kind: 'work', payload: { a: 1 } }],
    });
    const fired: string[] = [];
    await log.fire('t', async (timer) => void fired.push(timer.id));
    await log.fire('t', async (timer) => void fired.push(timer.id));
    expect(fired).toEqual(['t']);
    await expect(log.execute('k', () => Promise.reject(new Error('once')))).rejects.toThrow('once');
    expect(log.effects('ready')).toMatchObject([{ key: 'k', attempts: 1, payload: { a: 1 } }]);
    await log.execute('k', async () => undefined);
    await log.execute('k', () => Promise.reject(new Error('never')));
    expect(log.effects('done')).toHaveLength(1);
  });
});
