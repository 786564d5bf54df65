import { ACTIVITY_ITEMS_MAX, ACTIVITY_TEXT_CHARACTERS_MAX, clip } from '@hangar/contracts';
import type { HarnessEvent } from '@hangar/harness-adapters';
import {
  activitySubject,
  type ActivityEntry,
  type ActivityLog,
  type ActivityPlace,
} from '@hangar/messaging';
import type { Redactor } from '@hangar/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';

/** What is said within this goes out together; a reader has it within 200 ms of the CLI's writing. */
const GATHER_MS = 30;
/** Of text that may be a secret: the rest is not told live then, but with its message. */
const HELD_CHARACTERS_MAX = 512 * 1024;
/** What could not be written is tried again after this. */
const AGAIN_MS = 1_000;
/** Entries of one insert. */
const BATCH_MAX = 200;

export interface ActivityWriter {
  say(event: HarnessEvent): void;
  /** Everything that was said is written, or this fails and the run's output is read again. */
  close(): Promise<void>;
}

type Item = Record<string, unknown> & { type: string };

/**
 * Activity of one process of a run. Items have numbers that follow from its output, so that what is
 * read again is not told again; text as it is being written is told live and kept by nobody.
 */
export async function createActivityWriter(
  options: Pick<ActivityPlace, 'turn' | 'part'> & {
    /** Its output was read before, up to where nobody knows: text that was being written is told whole. */
    isAgain: boolean;
    activity: ActivityLog;
    nats: NatsConnection;
    sessionId: string;
    now(): Date;
    redact: Redactor;
  },
): Promise<ActivityWriter> {
  const { activity, nats, sessionId, turn, part, isAgain, now, redact } = options;
  const known = await activity.lastSeq(sessionId, turn, part);
  let seq = 0;
  let waiting: ActivityEntry[] = [];
  let delta = '';
  let isMuted = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let writing: Promise<void> = Promise.resolve();
  const publish = (live: object): void => {
    if (!nats.isClosed())
      nats.publish(activitySubject(sessionId), JSON.stringify({ turn, ...live }));
  };
  /** In order and without a gap: what could not be written is written first the next time. */
  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const entries = waiting.slice(0, BATCH_MAX);
      await activity.append(sessionId, entries);
      waiting = waiting.slice(entries.length);
      publish({ seq: entries.at(-1)?.seq });
    }
  };
  /** But for what may be the beginning of a secret [Z2]: that waits for what comes after it. */
  const tell = (): void => {
    const cut = redact.safeCut(delta);
    if (cut > 0) publish({ delta: redact(delta.slice(0, cut)) });
    isMuted = delta.length - cut > HELD_CHARACTERS_MAX;
    delta = isMuted ? '' : delta.slice(cut);
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (!isMuted) tell();
    const done = writing.then(write);
    // Who waits for it hears of a database that is away; the items stay where they are.
    writing = done.catch(() => undefined);
    return done;
  };
  const soon = (ms = GATHER_MS): void => {
    if (!isClosed) timer ??= setTimeout(() => void flush().catch(() => soon(AGAIN_MS)), ms);
  };
  const clean = (text: string): string => clip(redact(text), ACTIVITY_TEXT_CHARACTERS_MAX);
  return {
    say: (event) => {
      if (event.type === 'text_delta') {
        if (seq < known || (isAgain && seq === known)) return;
        if (isMuted) return;
        delta += event.text;
        return soon();
      }
      const item = itemOf(event, clean);
      if (!item || seq > ACTIVITY_ITEMS_MAX) return;
      seq += 1;
      if (seq <= known) return;
      // The text is whole now: what was told of it live is over.
      if (item.type === 'message') {
        delta = '';
        isMuted = false;
      }
      const entry = seq > ACTIVITY_ITEMS_MAX ? CUT : item;
      waiting.push({
        turn,
        part,
        seq,
        at: now().toISOString(),
        item: entry as ActivityEntry['item'],
      });
      soon();
    },
    close: () => {
      isClosed = true;
      return flush();
    },
  };
}

const CUT: Item = {
  type: 'notice',
  text: `This turn said more than ${ACTIVITY_ITEMS_MAX} things; the rest is in its conversation only.`,
};

/** One shape for every harness; null for what is no activity, or is in the log already. */
function itemOf(event: HarnessEvent, clean: (text: string) => string): Item | null {
  switch (event.type) {
    case 'message':
      return { type: 'message', text: clean(event.text) };
    case 'delivered':
      return { type: 'delivered', message_id: event.messageId };
    case 'tool_started':
      return {
        type: 'tool_started',
        call_id: event.id,
        tool: event.name,
        input: clean(JSON.stringify(event.input) ?? ''),
      };
    case 'tool_finished':
      return {
        type: 'tool_finished',
        call_id: event.id,
        output: clean(event.output),
        is_error: event.isError,
        ...(event.exitCode === undefined ? {} : { exit_code: event.exitCode }),
      };
    case 'file_changed':
      return { type: 'file_changed', path: clean(event.path), change: event.change };
    case 'retrying':
      return {
        type: 'retrying',
        attempt: event.attempt,
        reason: clean(event.reason),
        ...(event.delayMs === undefined ? {} : { delay_ms: event.delayMs }),
      };
    case 'notice':
      return { type: 'notice', text: clean(event.text) };
    case 'asked':
      return {
        type: 'asked',
        ask_id: event.ask.id,
        kind: event.ask.kind,
        text: clean(event.ask.questions.map(({ text }) => text).join('\n')),
      };
    case 'ended':
      return { type: 'ended', outcome: event.result.outcome, usage: event.result.usage };
    case 'text_delta':
    case 'conversation':
    case 'returned':
    case 'ask_closed':
      return null;
  }
}
