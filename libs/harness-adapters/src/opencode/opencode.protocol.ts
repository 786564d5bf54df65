/** One turn with OpenCode: requests to its server and its events, as turn.mjs carries them. */
import { answeredText } from '../answered-text.ts';
import type {
  Answer,
  Ask,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
  TurnSpec,
  Usage,
} from '../harness-adapter.ts';
import { numberAt, objectAt, parseJson, textAt, type Json } from '../json-line.ts';
import { modelChoice } from '../model-choice.ts';
import { modelRetries } from '../model-retries.ts';
import { OpenAsks } from '../open-asks.ts';
import { processResult, turnError } from '../turn-error.ts';
import {
  permissionAsk,
  permissionReply,
  questionAsk,
  questionReply,
  type Request,
} from './opencode.asks.ts';
import { OpencodeReplies } from './opencode.replies.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };

export class OpencodeProtocol implements TurnProtocol {
  readonly #turn: TurnSpec;
  readonly #asks = new OpenAsks(() => this.#stop());
  readonly #replies = new OpencodeReplies();
  #session = '';
  #isDelivered = false;
  #error: TurnResult['error'];
  /** What it waits with repeating a request for; empty while it works. */
  #retried = '';
  #isAborted = false;
  #isStopped = false;
  #isInterrupted = false;
  #result: TurnResult | null = null;

  constructor(turn: TurnSpec) {
    this.#turn = turn;
  }

  open(): ProtocolInput[] {
    return this.#turn.resume
      ? [input('session', { method: 'GET', path: '/session/{session}' })]
      : [input('session', { method: 'POST', path: '/session', body: { title: 'hangar' } })];
  }

  line(line: string): ProtocolStep {
    const json = parseJson(line);
    if (json === null || this.#result !== null) return NOTHING;
    return this.#read(json);
  }

  /** It could not be taken back once it is written: the message waits for the next turn. */
  steer({ messageId }: { messageId: string }): ProtocolStep {
    return only({ type: 'returned', messageId });
  }

  withdraw(): ProtocolStep {
    return NOTHING;
  }

  answer(askId: string, answer: Answer): ProtocolStep {
    return this.#asks.answer(askId, answer);
  }

  defer(): ProtocolStep {
    return this.#asks.defer();
  }

  interrupt(): ProtocolInput[] {
    this.#isInterrupted = true;
    return this.#stop();
  }

  close(): ProtocolInput[] {
    return [{ key: 'eof', line: 'eof' }];
  }

  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    return this.#result ?? this.#left(exit, stderr);
  }

  #read(json: Json): ProtocolStep {
    switch (json['type']) {
      case 'hangar.response':
        return this.#response(json);
      case 'hangar.exit':
        return this.#exit(json);
      case 'message.updated':
        return this.#message(objectAt(json, 'info'));
      case 'message.part.updated':
        return events(this.#replies.part(objectAt(json, 'part')));
      case 'message.part.delta':
        return events(this.#replies.delta(json));
      case 'file.edited':
        return only({ type: 'file_changed', path: textAt(json, 'file'), change: 'updated' });
      case 'permission.asked':
        return this.#asked(permissionAsk(json), (_ask, answer) => permissionReply(json, answer));
      case 'question.asked':
        return this.#asked(questionAsk(json), (ask, answer) => questionReply(json, ask, answer));
      case 'session.status':
        return this.#status(objectAt(json, 'status'));
      case 'session.error':
        return this.#failed(json);
      case 'session.idle':
        return textAt(json, 'sessionID') === this.#session ? this.#idle() : NOTHING;
      default:
        return NOTHING;
    }
  }

  #response(json: Json): ProtocolStep {
    const key = textAt(json, 'key');
    const isDone = numberAt(json, 'status') < 300;
    const body = objectAt(json, 'body');
    if (key === 'session' && isDone) return this.#opened(body);
    if (isDone || key === 'abort') return NOTHING;
    const words = textAt(objectAt(body, 'data'), 'message') || JSON.stringify(json['body']);
    const message = `OpenCode refused (${key}, status ${numberAt(json, 'status')}): ${words}`;
    // It fails by itself on an id of another form.
    const isUnknown =
      numberAt(json, 'status') === 404 || !this.#turn.conversationId?.startsWith('ses');
    const isLost = key === 'session' && this.#turn.resume && isUnknown;
    return this.#over({
      outcome: 'failed',
      error: { kind: isLost ? 'conversation_lost' : 'process', message },
    });
  }

  #opened(session: Json): ProtocolStep {
    const id = textAt(session, 'id');
    this.#session = id;
    this.#replies.of(id, numberAt(objectAt(session, 'time'), 'updated'));
    const opened: HarnessEvent[] = [{ type: 'conversation', id }];
    if (this.#isStopped) {
      return { events: [...opened, ...this.#over({ outcome: 'cancelled' }).events], inputs: [] };
    }
    const { prompt, answered } = this.#turn;
    const { provider, model } = modelChoice(this.#turn);
    if (provider === null) {
      // Otherwise the prompt goes to a service of OpenCode's own.
      const error = { kind: 'authentication', message: 'no API key of a provider' } as const;
      const over = this.#over({ outcome: 'failed', error });
      return { events: [...opened, ...over.events], inputs: [] };
    }
    const body = {
      ...(model === null ? {} : { model: { providerID: provider, modelID: model } }),
      parts: [{ type: 'text', text: answered === null ? prompt : answeredText(answered) }],
    };
    const path = `/session/${id}/prompt_async`;
    return { events: opened, inputs: [input('prompt', { method: 'POST', path, body })] };
  }

  #message(info: Json): ProtocolStep {
    const isOwn = textAt(info, 'sessionID') === this.#session && this.#replies.isOfTurn(info);
    if (info['role'] !== 'user') this.#replies.message(info);
    // The first is the prompt; a summary of what changed comes as an update of it.
    if (info['role'] !== 'user' || this.#isDelivered || !isOwn) return NOTHING;
    this.#isDelivered = true;
    return only({ type: 'delivered', messageId: this.#turn.messageId });
  }

  #asked(ask: Ask, reply: (ask: Ask, answer: Answer) => Request): ProtocolStep {
    const said = this.#replies.said();
    const step = this.#asks.asked(ask, (answer) => [input(`reply:${ask.id}`, reply(ask, answer))]);
    return { events: [...said, ...step.events], inputs: step.inputs };
  }

  #status(status: Json): ProtocolStep {
    const type = textAt(status, 'type');
    if (type === 'busy') this.#retried = '';
    if (type !== 'retry') return NOTHING;
    const attempt = numberAt(status, 'attempt');
    this.#retried = textAt(status, 'message');
    this.#replies.forget();
    // OpenCode has no bound of its own that could be set.
    if (attempt > modelRetries(this.#turn)) return { events: [], inputs: this.#abort() };
    return only({ type: 'retrying', attempt, reason: this.#retried });
  }

  #failed(json: Json): ProtocolStep {
    if (textAt(json, 'sessionID') !== this.#session) return NOTHING;
    const error = objectAt(json, 'error');
    const data = objectAt(error, 'data');
    if (textAt(error, 'name') === 'MessageAbortedError') {
      this.#isAborted = true;
      return NOTHING;
    }
    const message = textAt(data, 'message') || textAt(error, 'name') || 'OpenCode failed';
    const status = numberAt(data, 'statusCode') || undefined;
    this.#error ??= turnError({ message, status });
    return NOTHING;
  }

  #idle(): ProtocolStep {
    // Idle, too, is what it says of a session that has not begun.
    if (!this.#isDelivered && this.#error === undefined && !this.#isStopped) return NOTHING;
    if (this.#isStopped) return this.#over({ outcome: this.#stopOutcome() });
    // Ended in the middle of its repeats: those failed.
    if (this.#retried !== '') this.#error ??= turnError({ message: this.#retried });
    if (this.#error !== undefined) return this.#over({ outcome: 'failed', error: this.#error });
    if (this.#isAborted) return this.#over({ outcome: 'cancelled' });
    const said = this.#replies.said();
    if (this.#replies.isWhole) {
      const over = this.#over({ outcome: 'succeeded' });
      return { events: [...said, ...over.events], inputs: [] };
    }
    const error = turnError({ message: `the turn ended with "${this.#replies.finish}"` });
    return this.#over({ outcome: 'failed', error });
  }

  #stop(): ProtocolInput[] {
    this.#isStopped = true;
    return this.#abort();
  }

  #abort(): ProtocolInput[] {
    if (this.#session === '') return [];
    return [input('abort', { method: 'POST', path: `/session/${this.#session}/abort` })];
  }

  #stopOutcome(): 'cancelled' | 'deferred' {
    return this.#asks.isDeferring && !this.#isInterrupted ? 'deferred' : 'cancelled';
  }

  #exit(json: Json): ProtocolStep {
    const code = json['code'];
    const exit = { code: typeof code === 'number' ? code : null, signal: null };
    const result = this.#left(exit, textAt(json, 'stderr'));
    return this.#over(result);
  }

  #left(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult {
    const isInterrupted = this.#isStopped;
    const known = { summary: this.#replies.summary, usage: this.#usage(), isInterrupted };
    const result = processResult('OpenCode', exit, stderr, known);
    return isInterrupted ? { ...result, outcome: this.#stopOutcome() } : result;
  }

  #usage(): Usage {
    return this.#replies.usage();
  }

  #over({ outcome, error }: Pick<TurnResult, 'outcome' | 'error'>): ProtocolStep {
    this.#result = {
      outcome,
      summary: this.#replies.summary,
      usage: this.#usage(),
      ...(error === undefined ? {} : { error }),
    };
    const ended: HarnessEvent = { type: 'ended', result: this.#result };
    return { events: [...this.#asks.closeAll(), ended], inputs: [] };
  }
}

function input(key: string, request: Request): ProtocolInput {
  return { key, line: JSON.stringify({ key, ...request }) };
}

const events = (said: HarnessEvent[]): ProtocolStep => ({ events: said, inputs: [] });
const only = (event: HarnessEvent): ProtocolStep => events([event]);
