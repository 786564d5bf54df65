import { HangarError } from '@hangar/contracts';
import { connectLog, createCommandClient, type Json } from '@hangar/messaging';
import { logAddress, type Config } from '@hangar/service-kit';

/** How long saving and releasing may take before hangar stops without it; nothing is lost then. */
const REST_MS_MAX = 40_000;
const LOOK_MS = 200;

export interface Rested {
  suspended: number;
  /** Sessions whose sandboxes go on: a turn is at work, or something could not be saved whole. */
  goingOn: string[];
}

/**
 * What Ctrl-C does before everything stops: idle sessions are checkpointed and their sandboxes
 * released. A turn at work is never stopped by this: its sandbox goes on without hangar [M6].
 */
export async function putToRest(config: Config): Promise<Rested> {
  const log = await connectLog({ ...logAddress(config, 'rest'), poolMax: 2 });
  const live = async (): Promise<string[]> => {
    const { rows } = await log.pool.query<{ session_id: string }>(
      `select distinct session_id from sandbox_index where status in ('provisioning', 'ready', 'destroying')`,
    );
    return rows.map((row) => row.session_id);
  };
  try {
    const commands = createCommandClient({ nats: log.nats });
    const leaving: string[] = [];
    const goingOn: string[] = [];
    for (const id of await live()) {
      const meta = { actor: 'service:standalone', cause: null, correlation: id };
      try {
        const body = { id, data: { force: false }, meta } as unknown as Json;
        await commands.send('session', 'SuspendSession', body);
        leaving.push(id);
      } catch (error) {
        if (HangarError.from(error).code === 'unavailable') throw error;
        goingOn.push(id);
      }
    }
    const deadline = performance.now() + REST_MS_MAX;
    let left = leaving;
    while (left.length > 0 && performance.now() < deadline) {
      const now = new Set(await live());
      left = leaving.filter((id) => now.has(id));
      if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return { suspended: leaving.length - left.length, goingOn: [...goingOn, ...left] };
  } finally {
    await log.close();
  }
}
