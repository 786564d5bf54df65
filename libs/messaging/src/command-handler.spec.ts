import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { handleCommand } from './command-handler.ts';
import type { EventStore } from './event-store.ts';
import { createMemoryLog } from './memory/memory-log.ts';
import { sampleEvent, sampleFold, sampleMeta, sampleValidate } from './testing/sample.ts';

const stream = 'session/ses-1';
const meta = sampleMeta();
const newStore = (): EventStore =>
  createMemoryLog().store({ owns: ['session'], validate: sampleValidate });

/** A store in which somebody else appends between each of the first `times` loads and appends. */
function contended(store: EventStore, times: number): EventStore {
  let left = times;
  return {
    ...store,
    loadState: async (name, fold, tx) => {
      const loaded = await store.loadState(name, fold, tx);
      if (left > 0) {
        left -= 1;
        await store.append(name, loaded.version, [sampleEvent(100)], { meta });
      }
      return loaded;
    },
  };
}

const options = {
  stream,
  fold: sampleFold,
  meta,
  decide: (_state: unknown, version: number) => ({
    events: [sampleEvent(version + 1)],
    result: version + 1,
  }),
};

describe('handleCommand', () => {
  it('decides again on the newer state after a conflict', async () => {
    const store = newStore();
    const pauses: number[] = [];
    const handled = await handleCommand(contended(store, 2), {
      ...options,
      pause: async (retry) => void pauses.push(retry),
    });
    expect(handled).toEqual({ version: 3, result: 3, isRecorded: true });
    expect(pauses).toEqual([1, 2]);
  });

  it('gives up after five retries with a conflict for the person', async () => {
    const handled = handleCommand(contended(newStore(), 99), options);
    await expect(handled).rejects.toMatchObject({ code: 'conflict' });
  });

  it('records nothing when the decider stays quiet', async () => {
    const store = newStore();
    const handled = await handleCommand(store, {
      ...options,
      decide: () => ({ events: [], result: 'quiet' }),
    });
    expect(handled).toEqual({ version: 0, result: 'quiet', isRecorded: false });
  });

  it('passes a refusal on', async () => {
    const decide = (): never => {
      throw new HangarError('conflict', 'busy');
    };
    await expect(handleCommand(newStore(), { ...options, decide })).rejects.toThrow('busy');
  });

  it('says that a stream is closed', async () => {
    const store = newStore();
    await store.append(stream, 0, [sampleEvent(1)], { meta, close: true });
    await expect(handleCommand(store, options)).rejects.toThrow('is closed');
  });

  it('answers a repeated key from the record, even if the decider would now refuse', async () => {
    const store = newStore();
    const command = { id: 'key', bodyHash: 'hash' };
    const once = {
      ...options,
      command,
      decide: (state: { turns: number }, version: number) => {
        if (state.turns > 0) throw new HangarError('conflict', 'only one turn');
        return options.decide(state, version);
      },
    };
    const first = await handleCommand(store, once);
    expect(await handleCommand(store, once)).toEqual({ ...first, isRecorded: false });
    // The twin that looked up the key before the first was recorded.
    let looks = 0;
    const late: EventStore = {
      ...store,
      findCommand: async (...args) => ((looks += 1) === 1 ? undefined : store.findCommand(...args)),
    };
    expect(await handleCommand(late, once)).toMatchObject({ result: first.result });
    const reused = handleCommand(store, { ...once, command: { id: 'key', bodyHash: 'other' } });
    await expect(reused).rejects.toThrow('Idempotency-Key');
  });
});
