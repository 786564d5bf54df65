import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ActivityEntry, ActivityLog, ActivityPlace } from '../activity-log.ts';

let sessions = 0;
const newSession = (): string => `ses-${(sessions += 1).toString(16).padStart(8, '0')}`;

const AT = '2030-01-01T12:00:00.123Z';
const START: ActivityPlace = { turn: 0, part: 0, seq: 0 };
const at = (turn: number, part: number, seq: number): ActivityPlace => ({ turn, part, seq });
const entry = (turn: number, part: number, seq: number, text = `${turn}.${part}.${seq}`) =>
  ({ turn, part, seq, at: AT, item: { type: 'message', text } }) satisfies ActivityEntry;
const places = (entries: ActivityEntry[]): string[] =>
  entries.map(({ turn, part, seq }) => `${turn}.${part}.${seq}`);

/** What every log of activity promises. */
export function describeActivityLog(name: string, factory: () => Promise<ActivityLog>): void {
  describe(`activity log: ${name}`, () => {
    let log: ActivityLog;
    beforeAll(async () => {
      log = await factory();
    });
    const read = (id: string, after = START, limit = 100) => log.read(id, after, limit);

    it('knows nothing of a session that said nothing', async () => {
      const id = newSession();
      expect(await read(id)).toEqual([]);
      expect(await log.head(id)).toEqual(START);
      expect(await log.lastSeq(id, 1, 0)).toBe(0);
      await log.append(id, []);
      await log.forget(id);
      expect(await log.head(id)).toEqual(START);
    });

    it('reads what was written, as it was', async () => {
      const id = newSession();
      const item = {
        type: 'tool_finished',
        output: 'grüße 😀 "\\u0000" \n',
        is_error: false,
        exit_code: 2,
        usage: { input_tokens: 1, cost_usd: 0.5 },
        list: [1, null],
      };
      await log.append(id, [{ ...at(1, 0, 1), at: AT, item }]);
      expect(await read(id)).toEqual([{ turn: 1, part: 0, seq: 1, at: AT, item }]);
    });

    it('keeps what a program printed that no column takes: zero bytes, half characters', async () => {
      const id = newSession();
      await log.append(id, [entry(1, 0, 1, 'a\0b\ud800c')]);
      const [first] = await read(id);
      expect(first?.item['text']).toBe('a\uFFFDb\uFFFDc');
    });

    it('is in order by turn, process and number, however it was written', async () => {
      const id = newSession();
      await log.append(id, [entry(2, 0, 1), entry(1, 1, 1)]);
      await log.append(id, [entry(10, 0, 1), entry(1, 0, 2), entry(1, 0, 10), entry(1, 0, 1)]);
      expect(places(await read(id))).toEqual([
        '1.0.1',
        '1.0.2',
        '1.0.10',
        '1.1.1',
        '2.0.1',
        '10.0.1',
      ]);
      expect(await log.head(id)).toEqual(at(10, 0, 1));
    });

    it('what is there already stays as it is, also twice in one batch', async () => {
      const id = newSession();
      await log.append(id, [entry(1, 0, 1, 'first')]);
      await log.append(id, [
        entry(1, 0, 1, 'again'),
        entry(1, 0, 2, 'second'),
        entry(1, 0, 2, 'twice'),
      ]);
      expect((await read(id)).map(({ item }) => item['text'])).toEqual(['first', 'second']);
    });

    it('is read page by page after a place, which need not be there', async () => {
      const id = newSession();
      const all = [1, 2, 3, 4].map((seq) => entry(1, 0, seq));
      await log.append(id, [...all, entry(1, 1, 1), entry(2, 0, 1)]);
      expect(places(await read(id, START, 2))).toEqual(['1.0.1', '1.0.2']);
      expect(places(await read(id, at(1, 0, 2), 2))).toEqual(['1.0.3', '1.0.4']);
      expect(places(await read(id, at(1, 0, 99)))).toEqual(['1.1.1', '2.0.1']);
      expect(places(await read(id, at(1, 9, 0)))).toEqual(['2.0.1']);
      expect(await read(id, at(2, 0, 1))).toEqual([]);
    });

    it('knows the newest number of each process', async () => {
      const id = newSession();
      await log.append(id, [entry(1, 0, 2), entry(1, 0, 7), entry(1, 1, 3), entry(2, 0, 1)]);
      expect(await log.lastSeq(id, 1, 0)).toBe(7);
      expect(await log.lastSeq(id, 1, 1)).toBe(3);
      expect(await log.lastSeq(id, 2, 0)).toBe(1);
      expect(await log.lastSeq(id, 2, 1)).toBe(0);
    });

    it('forgets one session and no other', async () => {
      const [id, other] = [newSession(), newSession()];
      await log.append(id, [entry(1, 0, 1)]);
      await log.append(other, [entry(1, 0, 1)]);
      await log.forget(id);
      expect(await read(id)).toEqual([]);
      expect(places(await read(other))).toEqual(['1.0.1']);
    });

    it('forgets for good: a run that ends later adds nothing', async () => {
      const id = newSession();
      await log.append(id, [entry(1, 0, 1)]);
      await log.forget(id);
      await log.append(id, [entry(1, 0, 2)]);
      await log.forget(id);
      expect(await read(id)).toEqual([]);
    });

    it('forgets what is added at the same moment', async () => {
      const ids = Array.from({ length: 20 }, newSession);
      await Promise.all(
        ids.flatMap((id) => [
          ...[1, 2, 3].map((seq) => log.append(id, [entry(1, 0, seq)])),
          log.forget(id),
          ...[4, 5, 6].map((seq) => log.append(id, [entry(1, 0, seq)])),
        ]),
      );
      for (const id of ids) expect(await read(id)).toEqual([]);
    });
  });
}
