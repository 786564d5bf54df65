import { afterEach, describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { createHangarClient, type HangarClient } from '../client.ts';
import type { ActivityMoment } from './activity-follow.ts';
import {
  events,
  hangUp,
  problem,
  startScriptedServer,
  type ScriptedServer,
  type Step,
} from '../testing/scripted-server.ts';

let server: ScriptedServer;
afterEach(() => server.close());

const frame = (version: number): string =>
  `id: ${version}\nevent: SessionIdled\ndata: {"version":${version},"type":"SessionIdled"}\n\n`;

async function start(...steps: Step[]): Promise<HangarClient> {
  server = await startScriptedServer(...steps);
  return createHangarClient({ url: server.url, token: 'key', retryMs: 1 });
}

async function take(client: HangarClient, count: number, options = {}): Promise<string[]> {
  const cursors: string[] = [];
  for await (const event of client.events.session('csv fix', { retryMs: 1, ...options })) {
    cursors.push(event.cursor);
    if (cursors.length === count) break;
  }
  return cursors;
}

const lastIds = (): unknown[] => server.seen.map(({ headers }) => headers['last-event-id']);

describe('the events of a session', () => {
  it('come in order, from where the caller was', async () => {
    const client = await start(events([': hello\n\n', frame(4), frame(5)], 'stay'));
    expect(await take(client, 2, { lastEventId: '3' })).toEqual(['4', '5']);
    expect(server.seen[0]).toMatchObject({ url: '/api/sessions/csv%20fix/events' });
    expect(lastIds()).toEqual(['3']);
  });

  it('remember the place that was reached without an event', async () => {
    const client = await start(events(['id: 7\n\n'], 'end'), events([frame(8)], 'stay'));
    expect(await take(client, 1)).toEqual(['8']);
    expect(lastIds()).toEqual([undefined, '7']);
  });

  it.each(['end', 'break'] as const)(
    'go on without gap or repeat when the server %ss the stream, in the middle of one too',
    async (how) => {
      const half = frame(3).slice(0, 20);
      const client = await start(
        events([frame(1), frame(2), half], how),
        hangUp,
        events([frame(3)], how),
        events([frame(4)], 'stay'),
      );
      expect(await take(client, 4)).toEqual(['1', '2', '3', '4']);
      expect(lastIds()).toEqual([undefined, '2', '2', '3']);
    },
  );

  it('go on when the line fell silent', async () => {
    const client = await start(events([frame(1)], 'stay'), events([frame(2)], 'stay'));
    const reasons: string[] = [];
    const onReconnect = (reason: string): number => reasons.push(reason);
    expect(await take(client, 2, { silenceSeconds: 0.2, onReconnect })).toEqual(['1', '2']);
    expect(reasons).toEqual([expect.stringContaining('fell silent')]);
  });

  it('end with a refusal at once', async () => {
    const client = await start(problem(404, 'not_found', 'No session csv fix.'));
    await expect(take(client, 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(server.seen).toHaveLength(1);
  });

  it('end after ten tries in a row that brought nothing', async () => {
    const client = await start(hangUp);
    await expect(take(client, 1)).rejects.toBeInstanceOf(HangarError);
    expect(server.seen).toHaveLength(10);
  });

  it('end with the reason of the signal', async () => {
    const stop = new AbortController();
    const client = await start((answer, seen) => {
      events([frame(1)], 'stay')(answer, seen);
    });
    const reading = (async () => {
      for await (const _ of client.events.session('s', { signal: stop.signal }))
        stop.abort(new Error('enough'));
    })();
    await expect(reading).rejects.toThrow('enough');
  });

  it('close their connection when the reader leaves', async () => {
    let closed: () => void;
    const left = new Promise<void>((resolve) => (closed = resolve));
    const client = await start((answer, seen) => {
      answer.on('close', () => closed());
      events([frame(1)], 'stay')(answer, seen);
    });
    await take(client, 1);
    await left;
    expect(server.seen).toHaveLength(1);
  });
});

describe('the activity of a session', () => {
  const item = (cursor: string): string =>
    `id: ${cursor}\nevent: notice\ndata: {"cursor":"${cursor}","type":"notice"}\n\n`;
  const delta = (text: string): string => `event: delta\ndata: {"turn":1,"delta":"${text}"}\n\n`;
  const told = (moment: ActivityMoment): string =>
    'item' in moment ? moment.item.cursor : `+${moment.delta.delta}`;

  it('comes back after the last item, whatever was being written meanwhile', async () => {
    const client = await start(
      events([item('1.0.1'), delta('a'), item('1.0.2'), delta('b')], 'break'),
      hangUp,
      events([delta('c'), item('1.0.3')], 'end'),
      events([item('2.0.1')], 'stay'),
    );
    const seen: string[] = [];
    for await (const moment of client.activity.follow('csv fix', {
      retryMs: 1,
      lastEventId: '0',
    })) {
      seen.push(told(moment));
      if (seen.length === 7) break;
    }
    expect(seen).toEqual(['1.0.1', '+a', '1.0.2', '+b', '+c', '1.0.3', '2.0.1']);
    expect(lastIds()).toEqual(['0', '1.0.2', '1.0.2', '1.0.3']);
    expect(server.seen[0]).toMatchObject({ url: '/api/sessions/csv%20fix/activity/live' });
  });
});
