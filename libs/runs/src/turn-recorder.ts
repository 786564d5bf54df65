import { clip } from '@hangar/contracts';
import type { AnsweredAsk } from '@hangar/contracts';
import type { Answer, Ask, HarnessEvent } from '@hangar/harness-adapters';
import { ALL_ALLOWED, asksLeave, judge } from './permissions.ts';
import type { RunCommand } from './run.decider.ts';
import type { RunRequest } from './run.ts';
import type { TurnRecorder } from './turn-process.ts';

/** Of a tool call's input, in an event. */
const INPUT_CHARACTERS_MAX = 2_000;
/** Of a question or a choice, in an event. */
const ASK_CHARACTERS_MAX = 8_000;
const REASON_CHARACTERS_MAX = 500;

type Tell = (command: { type: RunCommand['type']; data: object }) => Promise<void>;
type ToolEvent = Extract<HarnessEvent, { type: 'tool_started' | 'tool_finished' }>;

/** What happens in a turn, as commands on its run. */
export function createTurnRecorder(options: {
  request: RunRequest;
  redact(text: string): string;
  tell: Tell;
}): TurnRecorder {
  const { request, redact, tell } = options;
  const permissions = request.permissions ?? ALL_ALLOWED;
  const isAsked = asksLeave(permissions);
  const asked = new Map<string, Ask>();
  const answers = new Map<string, { verdict: string; reason: string }>();
  const calls = new Map<string, { name: string; input: unknown }>();
  const inputOf = (input: unknown): string =>
    clip(
      redact(typeof input === 'string' ? input : (JSON.stringify(input) ?? '')),
      INPUT_CHARACTERS_MAX,
    );
  const decided = (
    call: { id: string; name: string; input: unknown },
    by: { verdict: string; reason: string; decided_by: string },
  ): Promise<void> =>
    tell({
      type: 'NoteDecision',
      data: {
        call_id: call.id,
        tool: call.name,
        input: inputOf(call.input),
        ...by,
        reason: clip(redact(by.reason), REASON_CHARACTERS_MAX),
      },
    });
  /** The answer may be told before what it answers is read again. */
  const decidedByPerson = async (askId: string): Promise<void> => {
    const [ask, answer] = [asked.get(askId), answers.get(askId)];
    if (!answer || ask?.kind !== 'decision' || !ask.tool) return;
    const { verdict, reason } = answer;
    await decided({ id: askId, ...ask.tool }, { verdict, reason, decided_by: 'person' });
  };
  /** The call that the turn before was deferred on is not asked about again. */
  const before = request.answered?.ask.kind === 'decision' ? request.answered : null;
  const decidedBefore = ({ ask, answer }: AnsweredAsk): Promise<void> =>
    decided(
      { id: ask.id, name: ask.tool ?? '', input: ask.tool_input ?? '' },
      { verdict: answer.verdict, reason: answer.reason, decided_by: 'person' },
    );
  return {
    delivered: (message_id) => tell({ type: 'MarkDelivered', data: { message_id } }),
    returned: (message_id) => tell({ type: 'MarkReturned', data: { message_id } }),
    asked: async (ask) => {
      const { tool } = ask;
      if (ask.kind === 'decision' && tool) {
        const { verdict, reason, decided_by } = judge(permissions, tool.name, tool.input);
        if (verdict !== 'ask') {
          await decided({ id: ask.id, ...tool }, { verdict, reason, decided_by });
          return { verdict, answers: {}, reason } satisfies Answer;
        }
      }
      asked.set(ask.id, ask);
      await tell({ type: 'NoteAsk', data: { ask: askOf(ask, redact, inputOf) } });
      await decidedByPerson(ask.id);
      return null;
    },
    answered: async (askId, answer) => {
      answers.set(askId, answer);
      await decidedByPerson(askId);
    },
    closed: async (ask_id) => {
      // One that a rule answered nobody knows of.
      if (asked.has(ask_id)) await tell({ type: 'CloseAsk', data: { ask_id } });
    },
    // Of calls that nobody asks about it is known only when they ran that they were allowed.
    tool: async (event: ToolEvent) => {
      if (event.type === 'tool_started') {
        calls.set(event.id, event);
        if (!isAsked) await decided(event, ALLOWED_BY_MODE);
        return;
      }
      const call = calls.get(event.id);
      calls.delete(event.id);
      if (before?.ask.id === event.id) return decidedBefore(before);
      // What failed without an exit code may as well have been refused by the harness itself.
      const hasRun = !event.isError || event.exitCode !== undefined;
      if (isAsked && call && hasRun) await decided({ id: event.id, ...call }, ALLOWED_BY_HARNESS);
    },
  };
}

const ALLOWED_BY_MODE = {
  verdict: 'allow',
  reason: 'the session allows all',
  decided_by: 'mode',
};
const ALLOWED_BY_HARNESS = {
  verdict: 'allow',
  reason: 'the harness runs it without asking',
  decided_by: 'harness',
};

/** As the log has it: redacted, and within what an event may carry. */
function askOf(ask: Ask, redact: (text: string) => string, inputOf: (input: unknown) => string) {
  const text = (value: string): string => clip(redact(value), ASK_CHARACTERS_MAX);
  return {
    id: ask.id,
    kind: ask.kind,
    questions: ask.questions.map((question) => ({
      id: question.id,
      text: text(question.text),
      choices: question.choices.map(({ label, description }) => ({
        label: text(label),
        description: text(description),
      })),
      is_multiple: question.isMultiple,
    })),
    ...(ask.tool ? { tool: ask.tool.name, tool_input: inputOf(ask.tool.input) } : {}),
  };
}
