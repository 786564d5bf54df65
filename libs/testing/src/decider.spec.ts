import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { given } from './decider.ts';
import { eventually } from './eventually.ts';
import { createFakeClock } from './fake-clock.ts';
import { seededRandom } from './random.ts';

interface Opened {
  type: 'Opened' | 'Closed';
}
const door = {
  initial: { isOpen: false },
  evolve: (_state: { isOpen: boolean }, event: Opened) => ({ isOpen: event.type === 'Opened' }),
  decide: (state: { isOpen: boolean }, command: 'open' | 'break'): Opened[] => {
    if (command === 'break') throw new HangarError('invalid', 'doors are not broken');
    return state.isOpen ? [] : [{ type: 'Opened' }];
  },
};

describe('given, when, then', () => {
  it('passes when the decision is as said', () => {
    given(door).when('open').then({ type: 'Opened' });
    given(door, { type: 'Opened' }).when('open').thenNothing();
    given(door).when('break').thenRefuses('invalid', 'not broken');
    given(door)
      .when('open')
      .thenState((state) => expect(state.isOpen).toBe(true));
  });

  it('fails when it is not', () => {
    expect(() => given(door).when('open').thenNothing()).toThrow('decided');
    expect(() => given(door).when('open').then({ type: 'Closed' })).toThrow('instead of');
    expect(() => given(door).when('open').thenRefuses('invalid')).toThrow('instead of refusing');
    expect(() => given(door).when('break').thenRefuses('conflict')).toThrow('refused otherwise');
    expect(() => given(door).when('break').thenRefuses('invalid', 'x')).toThrow('refused other');
  });
});

describe('eventually', () => {
  it('gives what the condition gave, and fails in time, naming it', async () => {
    let looks = 0;
    expect(await eventually(() => ((looks += 1) > 2 ? 'there' : undefined))).toBe('there');
    await expect(eventually(() => false, { withinMs: 50, what: 'rain' })).rejects.toThrow('rain');
  });
});

describe('clock and random', () => {
  it('move only when told, and repeat with the seed', () => {
    const clock = createFakeClock('2030-01-01T00:00:00.000Z');
    clock.advance(1500);
    expect(clock.now().toISOString()).toBe('2030-01-01T00:00:01.500Z');
    const [a, b, c] = [seededRandom(7), seededRandom(7), seededRandom(8)];
    const first = [a(), a(), a()];
    expect([b(), b(), b()]).toEqual(first);
    expect([c(), c(), c()]).not.toEqual(first);
  });
});
