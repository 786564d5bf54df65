import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HarnessHome } from '../testing/harness-home.ts';
import { HarnessProcess } from '../testing/harness-process.ts';
import { fakeAdapter } from './fake.adapter.ts';

let home: HarnessHome;
beforeEach(async () => {
  home = await HarnessHome.create(tmpdir());
});
afterEach(() => home.remove());

const start = (prompt: string): Promise<HarnessProcess> =>
  HarnessProcess.start(fakeAdapter, home.turn({ prompt, conversationId: 'c' }));

describe('fake harness', () => {
  it('crashes when it is told to', async () => {
    const turn = await (await start('[[ say: hm ;; crash ]]')).finished;
    expect(turn.exit.signal).toBe('SIGKILL');
    expect(turn.result).toMatchObject({
      outcome: 'failed',
      summary: 'hm',
      error: { kind: 'process' },
    });
  });

  it('hangs until it is interrupted', async () => {
    const process = await start('[[ say: hm ;; hang ;; say: never ]]');
    await process.until((event) => event.type === 'message');
    process.interrupt();
    expect((await process.finished).result).toMatchObject({ outcome: 'cancelled', summary: 'hm' });
  });

  it('waits for a file, so that a test decides when it goes on', async () => {
    const process = await start('[[ say: hm ;; until: go.txt ;; say: on ]]');
    await process.until((event) => event.type === 'message');
    expect(process.events.filter((event) => event.type === 'ended')).toEqual([]);
    await writeFile(join(home.cwd, 'go.txt'), '');
    expect((await process.finished).result).toMatchObject({ outcome: 'succeeded', summary: 'on' });
  });

  it('says what is wrong with a script', async () => {
    const turn = await (await start('[[ dance ]]')).finished;
    const error = { kind: 'invalid_request', message: 'unknown action "dance"' };
    expect(turn.result).toMatchObject({ outcome: 'failed', error });
  });

  it('refuses to begin a conversation that is there', async () => {
    await (
      await start('[[ say: one ]]')
    ).finished;
    const turn = await (await start('[[ say: two ]]')).finished;
    expect(turn.result.error).toMatchObject({ kind: 'process' });
    expect(turn.result.error?.message).toContain('already in use');
  });
});
