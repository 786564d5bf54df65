import {
  deriveId,
  HangarError,
  type AttachTerminalQuery,
  type OpenTerminal,
  type TerminalDocument,
} from '@hangar/contracts';
import type { SandboxIo, SandboxRef, TerminalStatus, TerminalView } from '@hangar/sandbox-drivers';
import type { Caller } from '../auth/caller.ts';
import type { Commands } from '../commands.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';
import type { GatewaySettings } from '../settings.ts';
import type { ViewWatch } from '../views/view-watch.ts';
import type { SessionReader } from '../sessions/session.reader.ts';
import type { SessionView, TalkView } from '../sessions/session.view.ts';

export interface TerminalsParts {
  reader: SessionReader;
  idempotency: Idempotency;
  commands: Commands;
  watch: ViewWatch;
  settings: Pick<GatewaySettings, 'harnesses'>;
  sandboxIo: Pick<SandboxIo, 'terminals'>;
}

/** States whose sandbox may be worked in; in the others it comes or goes. */
const USABLE: ReadonlySet<string> = new Set(['IDLE', 'ACTIVE', 'INTERRUPTED']);

/** The best shell that there is, with the settings that a person has for it. */
const SHELL = ['sh', '-c', 'exec "$(command -v bash || command -v sh)" -i'];

const SIZE_DEFAULT = { cols: 80, rows: 24 };

/** Terminals in the sandboxes of sessions [X8]. What is known of them is what the sandbox says. */
export class TerminalsService {
  readonly #parts: TerminalsParts;

  constructor(parts: TerminalsParts) {
    this.#parts = parts;
  }

  /** None when the session has no sandbox: they end with it. */
  async list(caller: Caller, ref: string): Promise<{ items: TerminalDocument[] }> {
    const session = await this.#parts.reader.find(caller.owner, ref);
    const sandbox = sandboxOf(session);
    if (!sandbox) return { items: [] };
    const terminals = await this.#parts.sandboxIo.terminals.list(sandbox.ref);
    const items = terminals.map(documentOf);
    const { talk } = session;
    const isComing = talk !== null && items.every(({ id }) => id !== talk.terminal_id);
    return { items: isComing ? [...items, coming(talk, SIZE_DEFAULT)] : items };
  }

  /** Throws `conflict` without a sandbox: a terminal never resumes a session by itself. */
  async open(
    caller: Caller,
    ref: string,
    creation: Creation,
    body: OpenTerminal,
  ): Promise<TerminalDocument> {
    const { reader, idempotency, sandboxIo } = this.#parts;
    const session = await reader.find(caller.owner, ref);
    const { cols, rows } = body;
    return idempotency.once(caller, creation, async (seed) => {
      if (body.kind === 'agent') return this.#talk(caller, session, seed, body);
      const { ref: sandbox, cwd } = requireSandbox(session);
      const id = deriveId('trm', seed);
      const envVars = { COLORTERM: 'truecolor' };
      await sandboxIo.terminals.open(sandbox, id, { argv: SHELL, cwd, envVars, cols, rows });
      const terminals = await sandboxIo.terminals.list(sandbox);
      const opened = terminals.find((each) => each.id === id);
      if (opened) return documentOf(opened);
      throw noTerminal(session.name, id);
    });
  }

  /** The sessions service says whether it may be; the process is started by the runs service. */
  async #talk(
    caller: Caller,
    { id, harness, permissions }: SessionView,
    request_id: string,
    size: { cols: number; rows: number },
  ): Promise<TerminalDocument> {
    const { commands, watch, reader, settings } = this.#parts;
    const able = settings.harnesses.find(({ name }) => name === harness)?.capabilities ?? {};
    const talks = able['talk'] === true;
    const asks = permissions.mode !== 'all' || permissions.rules.length > 0;
    if (talks && asks && able['talkAsks'] !== true)
      throw new HangarError(
        'conflict',
        `In its own interface ${harness} runs its tools without asking, and this session asks for leave.`,
        { hint: 'Send it a message instead, or allow all for the session first.' },
      );
    const data = { request_id, ...size, talks };
    await commands.send('session', 'StartTalk', id, data, caller);
    await watch.caughtUp();
    const { talk } = await reader.find(caller.owner, id);
    if (talk) return coming(talk, size);
    throw new HangarError('conflict', 'The talk with the agent has ended already.', {
      hint: 'The session says why (hangar session get).',
    });
  }

  async close(caller: Caller, ref: string, id: string): Promise<void> {
    const session = await this.#parts.reader.find(caller.owner, ref);
    if (session.talk?.terminal_id === id) {
      await this.#parts.commands.send(
        'session',
        'EndTalk',
        session.id,
        { terminal_id: id },
        caller,
      );
      return;
    }
    const sandbox = sandboxOf(session);
    if (sandbox) await this.#parts.sandboxIo.terminals.close(sandbox.ref, id);
  }

  async attach(
    owner: string,
    ref: string,
    id: string,
    query: AttachTerminalQuery,
  ): Promise<TerminalView> {
    const session = await this.#parts.reader.find(owner, ref);
    const { ref: sandbox } = requireSandbox(session);
    const { from = 0, cols = SIZE_DEFAULT.cols, rows = SIZE_DEFAULT.rows } = query;
    const view = { from, size: { cols, rows } };
    try {
      return await this.#parts.sandboxIo.terminals.attach(sandbox, id, view);
    } catch (error) {
      if (HangarError.from(error).code !== 'not_found') throw error;
      const { talk, state_reason, name } = await this.#parts.reader.find(owner, ref);
      if (talk?.terminal_id === id)
        throw new HangarError('unavailable', 'The agent is being started.', { cause: error });
      throw isAgent(id) ? noTerminal(name, id, state_reason) : noTerminal(name, id);
    }
  }
}

/** On record, and not in its sandbox yet. */
const coming = (talk: TalkView, size: { cols: number; rows: number }): TerminalDocument => ({
  id: talk.terminal_id,
  kind: 'agent',
  state: 'starting',
  exit_code: null,
  created_at: new Date(talk.since).toISOString(),
  ...size,
  viewers: 0,
  printed: 0,
});

interface Place {
  ref: SandboxRef;
  cwd: string;
}

const sandboxOf = ({ place, state }: SessionView): Place | null =>
  place && USABLE.has(state)
    ? { ref: { id: place.sandbox_id, instance: place.instance }, cwd: place.cwd }
    : null;

function requireSandbox(session: SessionView): Place {
  const place = sandboxOf(session);
  if (place) return place;
  throw new HangarError(
    'conflict',
    `Session ${session.name} is ${session.state}: it has no sandbox for a terminal.`,
    { hint: `Open it first (hangar session open ${session.name}), and try again when it is IDLE.` },
  );
}

const noTerminal = (name: string, id: string, reason?: string): HangarError =>
  new HangarError(
    'not_found',
    `Session ${name} has no terminal ${id}${reason ? `: ${reason}` : ''}.`,
    {
      hint: 'GET /api/sessions/{session}/terminals (hangar session terminals) shows those it has.',
    },
  );

export const documentOf = (terminal: TerminalStatus): TerminalDocument => ({
  id: terminal.id,
  kind: isAgent(terminal.id) ? 'agent' : 'shell',
  state: terminal.exit ? 'ended' : 'running',
  exit_code: terminal.exit?.kind === 'exited' ? terminal.exit.code : null,
  created_at: terminal.createdAt.toISOString(),
  cols: terminal.cols,
  rows: terminal.rows,
  viewers: terminal.viewers,
  printed: terminal.printed,
});

/** That of an agent has the number of its talk. */
const isAgent = (id: string): boolean => id.split('-').length === 3;
