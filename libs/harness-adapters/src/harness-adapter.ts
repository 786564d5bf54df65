/**
 * The seam to an agent CLI. An adapter is pure: it says which process to start, which lines to
 * write to it and what its lines mean. Who runs the process, and where, is not its business.
 * A turn is one process (a run); the conversation lives in files under HOME.
 */

export type HarnessName =
  | 'claude-code'
  | 'codex'
  | 'pi'
  | 'gemini'
  | 'opencode'
  | 'antigravity'
  | 'fake';

/** Abilities as data: "hand off instead" is a rule in the session and not a special case. */
export interface HarnessCapabilities {
  /** hangar may choose the conversation id before the first turn. */
  choosesId: boolean;
  resume: boolean;
  /** Natively, in one HOME. Without it a copy of the files in another sandbox still goes on. */
  fork: boolean;
  steer: boolean;
  withdraw: boolean;
  approvals: boolean;
  questions: boolean;
  interrupt: boolean;
  cost: boolean;
  /** A person can go on with the conversation in the CLI's own interface, between turns. */
  talk: boolean;
  /** There it asks the person before it runs a tool, in a session that asks for leave [A3]. */
  talkAsks: boolean;
}

export interface TurnSpec {
  /** With `messageId` it makes the message's identity: a second run of a message has a new one. */
  runId: string;
  messageId: string;
  /** What the person wrote, with hangar's own notes already in front of it. Up to 1 MiB. */
  prompt: string;
  cwd: string;
  home: string;
  /** Paths inside the sandbox. */
  node: string;
  harnessRoot: string;
  model: string | null;
  /** The id it has, or shall get where `choosesId`; null before a first turn elsewhere. */
  conversationId: string | null;
  /** false: start a new conversation; true: resume `conversationId`. */
  resume: boolean;
  /** Of the run, credentials and endpoint (`ANTHROPIC_BASE_URL` ...) included. */
  envVars: Record<string, string>;
  /**
   * Shell commands that print the newest value of a provider's key, by the key's variable. An
   * adapter whose CLI asks by such a command gives it that one, and leaves the variable out.
   */
  keyCommands: Readonly<Record<string, string>>;
  /** true: every tool call is asked about before it runs, as far as the harness can [A3]. */
  asksLeave: boolean;
  /**
   * The answer to what the turn before was deferred on [A2]; the conversation is resumed with it
   * instead of a prompt, or with it as the prompt where the harness cannot.
   */
  answered: { ask: Ask; answer: Answer } | null;
}

/** A person goes on with a conversation in a terminal; the fields are those of a turn. */
export type TalkSpec = Pick<
  TurnSpec,
  'cwd' | 'home' | 'node' | 'harnessRoot' | 'model' | 'envVars' | 'keyCommands' | 'asksLeave'
> & { conversationId: string };

/** What the agent wants of a person; the turn waits for the answer. */
export interface Ask {
  /** Unique in the conversation, and the same when the call is asked about again. */
  id: string;
  kind: 'question' | 'decision';
  /** One or more questions; for a decision one, which says what the tool would do. */
  questions: AskedQuestion[];
  /** The tool call that wants leave; absent for a question. */
  tool?: { name: string; input: unknown };
}

export interface AskedQuestion {
  id: string;
  text: string;
  /** Empty: free text. A free text is an answer beside the choices, too. */
  choices: { label: string; description: string }[];
  /** Several choices may be taken, then separated by `, `. */
  isMultiple: boolean;
}

export interface Answer {
  /** `deny` refuses a tool call, or says that a question stays without an answer. */
  verdict: 'allow' | 'deny';
  /** By question id; empty for a decision. */
  answers: Record<string, string>;
  /** What the agent is told with a `deny`. */
  reason: string;
}

export interface HarnessCommand {
  argv: string[];
  envVars: Record<string, string>;
  /**
   * Written under HOME before the start (endpoint and settings; no conversation files, no keys).
   * `path` is relative to HOME.
   */
  files: { path: string; content: string; mode: number }[];
}

export interface TalkCommand extends HarnessCommand {
  /**
   * JSON files under HOME in which these values are set, so that nothing is asked before the
   * conversation is there; what else the CLI keeps in them stays.
   */
  settings: { path: string; values: object }[];
}

/** One line for the process's stdin; `key` makes the write idempotent (`DetachedRuns.input`). */
export interface ProtocolInput {
  key: string;
  /** Without its newline; the word `eof` closes stdin. */
  line: string;
}

/** Tokens of this turn alone. */
export interface Usage {
  /** All that was sent, cached tokens included. */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** US dollars; absent where the harness does not say. */
  cost_usd?: number;
}

export type TurnErrorKind =
  | 'authentication'
  | 'usage_limit'
  | 'overloaded'
  | 'invalid_request'
  | 'connection'
  | 'conversation_lost'
  | 'process'
  | 'unknown';

export interface TurnResult {
  /** `deferred`: the turn ended on what it asked; the conversation goes on with the answer [A2]. */
  outcome: 'succeeded' | 'failed' | 'cancelled' | 'deferred';
  /** Last message of the assistant in this turn; empty when there was none. */
  summary: string;
  usage: Usage;
  error?: { kind: TurnErrorKind; message: string; resetsAt?: string };
}

/** What happened, in one shape for every harness. `at` is not here: the reader stamps it. */
export type HarnessEvent =
  /** The id the harness itself reports: compared with the expected one after the turn [R3]. */
  | { type: 'conversation'; id: string }
  /** The harness said it has the message: delivered, not merely written [M3]. */
  | { type: 'delivered'; messageId: string }
  /**
   * A message for the running turn that the harness has not, and will not get in it [M4]; also the
   * turn's own, when it waited behind an ask that is deferred again.
   */
  | { type: 'returned'; messageId: string }
  | { type: 'asked'; ask: Ask }
  /** Answered, deferred, or given up by the harness: an answer does nothing any more [A4]. */
  | { type: 'ask_closed'; id: string }
  | { type: 'text_delta'; text: string }
  | { type: 'message'; role: 'assistant'; text: string }
  | { type: 'tool_started'; id: string; name: string; input: unknown }
  | { type: 'tool_finished'; id: string; output: string; isError: boolean; exitCode?: number }
  | { type: 'file_changed'; path: string; change: 'created' | 'updated' | 'deleted' }
  | { type: 'retrying'; attempt: number; reason: string; delayMs?: number }
  | { type: 'notice'; text: string }
  /** The turn is over as far as the harness is concerned; the process may still run. */
  | { type: 'ended'; result: TurnResult };

/** What was said, and what is to be written. */
export interface ProtocolStep {
  events: HarnessEvent[];
  inputs: ProtocolInput[];
}

/**
 * The line protocol of one turn: a state machine without I/O, clock or randomness. Fed the same
 * lines it says the same things with the same keys, so a restarted service replays the output
 * from byte 0 and nothing is sent twice. What came from people is then told again as soon as it can
 * be: answers and `defer` before the first line, messages (`steer`, `withdraw`) once the process has
 * named its conversation. The keys of what is written must not depend on when it came. A message on record as `returned` is not told again: it may be
 * another turn's by now, and a process that still runs would get it a second time.
 */
export interface TurnProtocol {
  /** What to write at once after the start. */
  open(): ProtocolInput[];
  /** One line of stdout, without its newline. Lines that are not understood give nothing. */
  line(line: string): ProtocolStep;
  /**
   * A message for the running turn [M3]; exactly one of `delivered` and `returned` follows, at the
   * latest before `ended` (after `ended`: `returned` at once). A harness that cannot give a
   * message back is written to only when it would apply it at once.
   */
  steer(message: { messageId: string; text: string }): ProtocolStep;
  /** Gives it back if the harness has not got it yet; else `delivered` says that it was late [M4]. */
  withdraw(messageId: string): ProtocolStep;
  /** The first answer to an open ask counts; any other is quiet. `ask_closed` follows. */
  answer(askId: string, answer: Answer): ProtocolStep;
  /**
   * Ends the turn with its open asks kept (`deferred`) where the harness can go on from them in
   * another sandbox, or else by interrupting it. Without an open ask it is quiet [A2], and what
   * is asked later in the turn is deferred at once.
   */
  defer(): ProtocolStep;
  /** The harness's own interrupt [M8]; empty when there is none (then signals are used). */
  interrupt(): ProtocolInput[];
  /** After `ended`: what lets the process leave with everything on disk (usually `eof`). */
  close(): ProtocolInput[];
  /**
   * The process went away: the result if `ended` was never said; a message that was not settled
   * by then is one that the harness never got. `stderr` is its last 16 KiB.
   */
  exited(exit: { code: number | null; signal: string | null }, stderr: string): TurnResult;
}

/** Reads and writes conversation files inside the sandbox; paths are absolute. */
export interface ConversationFiles {
  /** Every file below it, at any depth; empty when it does not exist. */
  list(directory: string): Promise<string[]>;
  /** null when it does not exist. Refuses (`exhausted`) above `CONVERSATION_BYTES_MAX`. */
  read(path: string): Promise<Uint8Array | null>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}

export type ConversationCheck =
  /** `entries` never shrinks over a turn; `lastEntry` is the newest message's id, if any. */
  | { state: 'intact'; path: string; entries: number; lastEntry: string | null }
  /** Usable after `repair`; `lost` says in words what the repair gives up. */
  | { state: 'damaged'; path: string; entries: number; lost: string; repaired: Uint8Array }
  | { state: 'missing'; reason: string };

export interface HarnessAdapter {
  readonly name: HarnessName;
  readonly capabilities: HarnessCapabilities;
  /** Directories under HOME whose files are the conversation [C7]; never one with credentials. */
  readonly conversationDirectories: readonly string[];
  command(turn: TurnSpec): HarnessCommand;
  protocol(turn: TurnSpec): TurnProtocol;
  /** Only where `capabilities.talk` says so. What is said is in the conversation's files at its end. */
  talk?(talk: TalkSpec): TalkCommand;
  /** Are the files where this harness looks, and whole? Asked before and after a turn [R3]. */
  check(
    files: ConversationFiles,
    where: { home: string; cwd: string; conversationId: string },
  ): Promise<ConversationCheck>;
  /** What a person types in the sandbox to go on by hand, e.g. `claude --resume <id>`. */
  terminalHint(conversationId: string): string;
}

/** Bound on one conversation file read by the control plane: 512 MiB. */
export const CONVERSATION_BYTES_MAX = 512 * 1024 * 1024;
