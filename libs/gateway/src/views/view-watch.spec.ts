import { describe, expect, it } from '@jest/globals';
import { createLocalWake } from '@hangar/messaging';
import { Signal } from '../live/signal.ts';
import { ViewWatch } from './view-watch.ts';

const never = new AbortController().signal;

function watched(caughtUp: () => Promise<void> = () => Promise.resolve()) {
  const wake = createLocalWake();
  const signal = new Signal((announce) => wake.subscribe('log', announce));
  return { wake, signal, watch: new ViewWatch({ caughtUp }, signal) };
}

describe('ViewWatch', () => {
  it('looks once, and again with each commit, until there is something', async () => {
    const { wake, watch } = watched();
    let looks = 0;
    const found = watch.until(
      () => {
        looks += 1;
        // Between the look and the wait: the commit must not be missed.
        wake.notify('log');
        return Promise.resolve(looks === 3 ? 'there' : null);
      },
      { seconds: 30, gone: never },
    );
    expect(await found).toBe('there');
    expect(looks).toBe(3);
  });

  it('gives up when the time is over, and when the client has gone', async () => {
    const { watch } = watched();
    const nothing = () => Promise.resolve(null);
    expect(await watch.until(nothing, { seconds: 0, gone: never })).toBeNull();
    const client = new AbortController();
    const waiting = watch.until(nothing, { seconds: 30, gone: client.signal });
    client.abort();
    expect(await waiting).toBeNull();
  });

  it('does not wait for ever for read models that stand still', async () => {
    const { watch } = watched(() => new Promise(() => undefined));
    expect(await watch.caughtUp(5)).toBe(false);
  });

  it('holds a bounded number of requests open', async () => {
    const { watch, wake } = watched();
    let isDone = false;
    const look = () => Promise.resolve(isDone ? true : null);
    const client = new AbortController();
    const all = Array.from({ length: 1000 }, () =>
      watch.until(look, { seconds: 30, gone: client.signal }),
    );
    await expect(watch.until(look, { seconds: 1, gone: never })).rejects.toMatchObject({
      code: 'exhausted',
    });
    isDone = true;
    wake.notify('log');
    expect(new Set(await Promise.all(all))).toEqual(new Set([true]));
    expect(await watch.until(look, { seconds: 1, gone: never })).toBe(true);
  });
});
