import type { HangarClient } from '@hangar/client';
import { HangarError, type SessionDocument } from '@hangar/contracts';
import { EXIT } from '../exit-codes.ts';
import { Failure, sentence } from '../failure.ts';
import type { Output } from '../output/output.ts';
import { agoText, durationText } from '../output/quantities.ts';
import { Interrupted, type Terminal } from '../terminal.ts';
import type { Goal, Verdict } from './goal.ts';
import { phaseLine } from './phase-line.ts';

/** Tries, 100 ms apart, for the document to catch up with the last event: two seconds. */
const CATCH_UP_TRIES_MAX = 20;
const CATCH_UP_MS = 100;

export interface FollowOptions {
  client: HangarClient;
  output: Output;
  terminal: Terminal;
  ref: string;
  /** What people call it, for the way back. */
  name: string;
  /** Version of the session before the change that is waited for: events after it count. */
  fromVersion: number;
  waitSeconds: number;
}

export interface Followed {
  session: SessionDocument;
  verdict: Verdict;
}

/**
 * Shows the phases until the goal's verdict. Stopping to wait stops nothing else: Ctrl-C and the
 * end of the time throw a Failure that says so, with the exit code for "no outcome".
 */
export async function follow(options: FollowOptions, goal: Goal): Promise<Followed> {
  const { client, output, terminal, ref } = options;
  const before = await client.sessions.get(ref);
  const already = before.version <= options.fromVersion ? goal.already?.(before) : null;
  if (already) return { session: before, verdict: already };
  const time = AbortSignal.timeout(options.waitSeconds * 1000);
  const events = client.events.session(before.id, {
    lastEventId: String(options.fromVersion),
    signal: AbortSignal.any([terminal.signal, time]),
    onReconnect: (reason) => output.noteLine('WARNING', `${reason}; connecting again`),
  });
  let startedAt: number | null = null;
  let previousWord: string | null = null;
  try {
    for await (const event of events) {
      if (event.version <= options.fromVersion) continue;
      startedAt ??= Date.parse(event.at);
      const line = phaseLine(event, previousWord);
      if (line) {
        previousWord = line.word;
        const seconds = (Date.parse(event.at) - startedAt) / 1000;
        output.noteLine(line.word, `${line.text} (${durationText(seconds)})`);
      }
      const verdict = goal.see(event);
      if (verdict) return { session: await caughtUp(options, before, event.version), verdict };
    }
  } catch (error) {
    if (time.aborted || error instanceof Interrupted) throw stillWorking(options, error);
    if (error instanceof HangarError && error.code === 'unavailable') {
      throw stillWorking(options, error);
    }
    throw error;
  }
  throw new Error('an event stream ends only by an error');
}

/** The read model follows the log: it is given a moment to show what the events said. */
async function caughtUp(
  { client }: FollowOptions,
  { id }: SessionDocument,
  version: number,
): Promise<SessionDocument> {
  for (let tries = 1; ; tries += 1) {
    const session = await client.sessions.get(id);
    if (session.version >= version || tries === CATCH_UP_TRIES_MAX) return session;
    await new Promise((resolve) => setTimeout(resolve, CATCH_UP_MS));
  }
}

function stillWorking({ name, waitSeconds }: FollowOptions, error: unknown): Failure {
  const broke = error instanceof HangarError;
  const what = broke ? `${error.message}.` : stopText(error, waitSeconds);
  return new Failure({
    code: 'unavailable',
    what,
    kept: 'The work goes on; nothing was cancelled.',
    next:
      `Come back with hangar session get ${name} or hangar session events ${name} --follow; ` +
      `stop the work with hangar session interrupt ${name}.`,
    exitCode: broke ? EXIT.failed : EXIT.stopped,
  });
}

const stopText = (error: unknown, waitSeconds: number): string =>
  error instanceof Interrupted
    ? 'You stopped waiting (Ctrl-C).'
    : `No outcome within ${durationText(waitSeconds)}.`;

const LOOK_NEXT = 'Look at it with hangar session get SESSION.';

/** The verdict of a wait that was not reached, in three lines. */
export function notReached({ session, verdict }: Followed, now: Date): Failure {
  const newest = session.checkpoints.at(-1);
  const kept = newest
    ? `Work up to checkpoint ${newest.id} (${agoText(newest.taken_at, now)}) is kept.`
    : 'No checkpoint was taken yet; what is in the sandbox stays there.';
  return new Failure({
    code: 'conflict',
    what: sentence(verdict.what ?? 'It did not come to what was asked.'),
    kept,
    next: (verdict.next ?? LOOK_NEXT).replaceAll('SESSION', session.name),
    ...(verdict.exitCode === undefined ? {} : { exitCode: verdict.exitCode }),
  });
}
