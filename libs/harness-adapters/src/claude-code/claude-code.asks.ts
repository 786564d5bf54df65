/**
 * What Claude Code asks of a person. Questions and leave come through a PreToolUse hook over the
 * line protocol: it fires in every permission mode, fails closed, and can be put off (`defer`), so
 * that the program asks again when the conversation is resumed. A plan comes as a permission
 * request, which is the one that holds the text of the plan.
 */
import type {
  Answer,
  Ask,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnSpec,
} from '../harness-adapter.ts';
import { listAt, objectAt, textAt, type Json } from '../json-line.ts';
import { controlResponse } from './claude-code.control.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };
const QUESTION = 'AskUserQuestion';
const PLAN = 'ExitPlanMode';
/** A person may take a week: the longest time a hook is held open. */
const HOOK_SECONDS_MAX = 604_800;
/** The program wants a reason; a person need not give one. */
const NO_REASON = 'It was not allowed.';
/** Longest description of a tool call, in characters. */
const TEXT_CHARACTERS_MAX = 4_000;

interface OpenAsk {
  ask: Ask;
  requestId: string;
  /** The program can ask again later: only a hook for a call of the conversation itself. */
  isDeferrable: boolean;
  respond(answer: Answer): Json;
}

export class Asks {
  readonly #asksLeave: boolean;
  /** The call that the turn before was deferred on: it is answered, and nobody is asked. */
  readonly #answered: Ask | null;
  /** Answers by ask, told before or after the ask was read; the first counts. */
  readonly #answers = new Map<string, Answer>();
  readonly #asked = new Set<string>();
  /** By the request's id. */
  readonly #open = new Map<string, OpenAsk>();

  constructor({ asksLeave, answered }: TurnSpec) {
    this.#asksLeave = asksLeave;
    this.#answered = answered?.ask ?? null;
    if (answered !== null) this.#answers.set(answered.ask.id, answered.answer);
  }

  /** Of the first request to the program. */
  hooks(): Json {
    const tools = this.#asksLeave ? ['*'] : [QUESTION, this.#answered?.tool?.name];
    const matcher = tools.filter((tool) => tool !== undefined).join('|');
    const hook = { matcher, hookCallbackIds: ['ask'], timeout: HOOK_SECONDS_MAX };
    return { hooks: { PreToolUse: [hook] } };
  }

  answer(askId: string, answer: Answer): ProtocolStep {
    if (this.#answers.has(askId)) return NOTHING;
    this.#answers.set(askId, answer);
    const open = [...this.#open.values()].filter(({ ask }) => ask.id === askId);
    return { events: [], inputs: open.map((each) => responseTo(each, answer)) };
  }

  request(json: Json): ProtocolStep {
    const requestId = textAt(json, 'request_id');
    const request = objectAt(json, 'request');
    const open = openAsk(requestId, request);
    if (open === null || !this.#isWanted(open.ask)) {
      return { events: [], inputs: [unasked(requestId, request)] };
    }
    const { ask } = open;
    const isNew = !this.#asked.has(ask.id) && ask.id !== this.#answered?.id;
    this.#asked.add(ask.id);
    this.#open.set(requestId, open);
    const answer = this.#answers.get(ask.id);
    return {
      events: isNew ? [{ type: 'asked', ask }] : [],
      inputs: answer === undefined ? [] : [responseTo(open, answer)],
    };
  }

  #isWanted({ id, kind, tool }: Ask): boolean {
    const isLeave = kind === 'decision' && tool?.name !== PLAN;
    return !isLeave || this.#asksLeave || id === this.#answered?.id;
  }

  /** The program took the answer (it repeats it), or gave the request up. */
  closed(requestId: string): HarnessEvent[] {
    const open = this.#open.get(requestId);
    this.#open.delete(requestId);
    return open === undefined ? [] : [{ type: 'ask_closed', id: open.ask.id }];
  }

  /** What nobody has answered yet. */
  waiting(): { askId: string; isDeferrable: boolean }[] {
    return [...this.#open.values()]
      .filter(({ ask }) => !this.#answers.has(ask.id))
      .map(({ ask, isDeferrable }) => ({ askId: ask.id, isDeferrable }));
  }

  /** Any later answer is quiet: who resumes the conversation brings it. */
  defer(askId: string): ProtocolInput[] {
    const open = [...this.#open.values()].filter(({ ask }) => ask.id === askId);
    return open.map(({ requestId }) => controlResponse(requestId, decision('defer')));
  }
}

function openAsk(requestId: string, request: Json): OpenAsk | null {
  const subtype = textAt(request, 'subtype');
  if (subtype === 'hook_callback') {
    const call = objectAt(request, 'input');
    const tool = textAt(call, 'tool_name');
    if (tool === PLAN) return null;
    const input = objectAt(call, 'tool_input');
    const ask = askOf(textAt(call, 'tool_use_id'), tool, input);
    // A subagent's calls are another conversation, which is not resumed.
    const isDeferrable = textAt(call, 'agent_id') === '';
    return { ask, requestId, isDeferrable, respond: (answer) => hookResponse(ask, input, answer) };
  }
  const tool = textAt(request, 'tool_name');
  if (subtype !== 'can_use_tool' || (tool !== PLAN && tool !== QUESTION)) return null;
  const input = objectAt(request, 'input');
  const ask = askOf(textAt(request, 'tool_use_id'), tool, input);
  const respond = (answer: Answer): Json => permission(ask, input, answer);
  return { ask, requestId, isDeferrable: false, respond };
}

/** Whatever else it wants to know is allowed at once: a hook has decided before, or none had to. */
function unasked(requestId: string, request: Json): ProtocolInput {
  if (textAt(request, 'subtype') !== 'can_use_tool') return controlResponse(requestId, {});
  const updatedInput = objectAt(request, 'input');
  return controlResponse(requestId, { behavior: 'allow', updatedInput });
}

function responseTo({ requestId, respond }: OpenAsk, answer: Answer): ProtocolInput {
  return controlResponse(requestId, respond(answer));
}

function askOf(id: string, tool: string, input: Json): Ask {
  if (tool !== QUESTION) {
    const text = toolText(tool, input).slice(0, TEXT_CHARACTERS_MAX);
    const question = { id: 'leave', text, choices: [], isMultiple: false };
    return { id, kind: 'decision', questions: [question], tool: { name: tool, input } };
  }
  const questions = listAt(input, 'questions').map((question) => ({
    // The program knows an answer by the text of its question.
    id: textAt(question, 'question'),
    text: textAt(question, 'question'),
    choices: listAt(question, 'options').map((option) => ({
      label: textAt(option, 'label'),
      description: textAt(option, 'description'),
    })),
    isMultiple: question['multiSelect'] === true,
  }));
  return { id, kind: 'question', questions };
}

function toolText(tool: string, input: Json): string {
  const known = ['command', 'file_path', 'url', 'plan'].map((key) => textAt(input, key));
  return `${tool}: ${known.find((text) => text !== '') ?? JSON.stringify(input)}`;
}

function decision(permissionDecision: string, fields: Json = {}): Json {
  const output = { hookEventName: 'PreToolUse', permissionDecision, ...fields };
  return { hookSpecificOutput: output };
}

function hookResponse(ask: Ask, input: Json, { verdict, answers, reason }: Answer): Json {
  if (verdict === 'deny') {
    return decision('deny', { permissionDecisionReason: reason || NO_REASON });
  }
  const isQuestion = ask.kind === 'question';
  return decision('allow', isQuestion ? { updatedInput: { ...input, answers } } : {});
}

function permission(ask: Ask, input: Json, { verdict, answers, reason }: Answer): Json {
  if (verdict === 'deny') return { behavior: 'deny', message: reason || NO_REASON };
  const isQuestion = ask.kind === 'question';
  return { behavior: 'allow', updatedInput: isQuestion ? { ...input, answers } : input };
}
