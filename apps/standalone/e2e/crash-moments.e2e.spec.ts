import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import { Gate, MOMENTS, Scene, type Moment } from './live-moments.ts';
import { SHAPE, System, type ProcessName } from './system.ts';
import { TEST_MS_MAX, WAIT_SECONDS, again, openWorkplace, type Workplace } from './workplace.ts';

/** Who is killed in each round; nobody named is everybody. */
const ROUNDS: ProcessName[][] =
  SHAPE === 'apart'
    ? [['sandboxes'], ['sessions'], ['checkpoints'], ['runs'], ['gateway'], []]
    : [[], []];

jest.setTimeout(TEST_MS_MAX);

describe(`kill -9 of hangar while it is spoken with (${SHAPE})`, () => {
  let work: Workplace;
  let gate: Gate;
  let system: System;
  let client: HangarClient;
  const scenes = new Map<Moment, Scene>();
  const of = (moment: Moment): Scene => scenes.get(moment)!;
  /** All moments at once: a kill strikes them together. */
  const each = (act: (moment: Moment, scene: Scene) => unknown): Promise<unknown> =>
    Promise.all(MOMENTS.map((moment) => act(moment, of(moment))));

  beforeAll(async () => {
    work = await openWorkplace();
    gate = await Gate.start(work.repo);
    system = await System.start({ envVars: { HANGAR_CREDENTIAL_COMMAND: gate.program } });
    client = system.client();
    await client.environments.apply('default', {});
    await client.environments.apply('private', gate.environment);
    await Promise.all(
      MOMENTS.map(async (moment, index) => {
        const name = `moment-${index}`;
        scenes.set(moment, new Scene(client, name, gate));
        await client.sessions.create(
          {
            name,
            environment: 'default',
            harness: 'fake',
            repo: moment.session.environment === 'private' ? gate.url : work.repo,
            ...moment.session,
          },
          { waitSeconds: WAIT_SECONDS },
        );
      }),
    );
  });

  afterAll(async () => {
    await system?.dispose();
    await gate?.dispose();
    await work?.dispose();
  });

  it.each(ROUNDS.map((victims, index) => [victims.join() || 'everything', index + 1, victims]))(
    '%s (round %i): every turn ends, and nothing is left open',
    async (_, round, victims) => {
      const n = Number(round);
      gate.close();
      await each(async ({ message, arrive }, scene) => {
        await client.sessions.send(scene.ref, { message: message(n) });
        await arrive(scene, n);
      });
      await each(({ act }, scene) => act?.(scene, n));
      await system.kill(...(victims as ProcessName[]));
      await system.up();
      await each(({ goOn }, scene) => goOn(scene, n));
      await each(async (_moment, scene) => {
        const end = await scene.where((s) => s.state === 'IDLE' && s.queue.length === 0);
        expect(end.attention).toEqual([]);
      });
    },
  );

  it.each(MOMENTS.map((moment) => [moment.name, moment] as const))(
    '%s: all was done exactly once, and in order',
    async (_, moment) => {
      const { ref } = of(moment);
      const rounds = ROUNDS.map((_victims, index) => index + 1);
      const lines = (text: string): string[] => text.split('\n').filter(Boolean);
      expect(lines(await of(moment).shell('cat done.txt'))).toEqual(rounds.map(String));
      const session = await client.sessions.get(ref);
      expect(session.turns.map(({ outcome }) => outcome)).toEqual(
        session.turns.map(() => 'succeeded'),
      );
      const messages = session.turns.flatMap(({ message_id, steered }) => [
        message_id,
        ...steered.map((steer) => steer.message_id),
      ]);
      expect(new Set(messages).size).toBe(messages.length);
      expect(session.checkpoints.length).toBeGreaterThan(0);
      expect(session.checkpoints.every(({ complete }) => complete)).toBe(true);
      const { items } = await again(() => client.activity.list(ref, { limit: 200 }));
      const said = items.flatMap(({ type, text }) => (type === 'message' ? [text ?? ''] : []));
      // A steer is said before the turn's own word or, when that had come to its end, after it.
      expect(inRounds(said, moment)).toEqual(rounds.map((n) => moment.says(n).toSorted()));
    },
  );

  it('each tool call was decided once, by a person', async () => {
    for (const moment of MOMENTS.filter(({ session }) => session.permissions)) {
      const { items } = await client.decisions.list(of(moment).ref, { limit: 200 });
      expect(items.map(({ turn, verdict, decided_by }) => [turn, verdict, decided_by])).toEqual(
        ROUNDS.map((_, index) => [index + 1, 'allow', 'person']),
      );
    }
  });

  it('each push was made once, with a credential that was fetched again', () => {
    expect(gate.pushed().toReversed()).toEqual(ROUNDS.map((_, index) => `push-${index + 1}`));
  });
});

/** What was said, by round; within one in the order of the alphabet. */
function inRounds(said: string[], { says }: Moment): string[][] {
  const count = says(1).length;
  return Array.from({ length: Math.ceil(said.length / count) }, (_, index) =>
    said.slice(index * count, (index + 1) * count).toSorted(),
  );
}
