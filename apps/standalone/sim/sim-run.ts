import { partNumber, turnOf } from '../../../libs/sessions/src/session.ts';
import type { Run } from '../../../libs/runs/src/run.ts';
import {
  SimFailure,
  type Computer,
  type Line,
  type Process,
  type SimWorld,
  type Task,
} from './sim-world.ts';

type Chance = (p: number) => boolean;

/** Asks that one agent has open at once. */
const ASKS_MAX = 2;

/** One step of a run: what its process printed is put on record, else the agent does one thing. */
export function run(world: SimWorld, task: Task, chance: Chance): boolean {
  const state = world.log.state('run', task.id);
  if (!state || state.status === 'ended') return true;
  const { place, turn } = state.request;
  const computer = world.computers.get(place.sandbox_id);
  if (!computer?.isAlive) return fail(world, task, 'sandbox_gone', 'the sandbox is gone');
  const process = computer.processes.get(task.id);
  if (!process) {
    if (state.cancelling !== null) return finish(world, task, ended('cancelled', state.request));
    if (chance(0.04)) return fail(world, task, 'not_started', 'the harness is not installed');
    return startProcess(world, computer, state)
      ? started(world, task)
      : fail(world, task, 'vanished', 'a later run is here');
  }
  if (state.status === 'requested') return started(world, task);
  const line = process.output[task.read];
  if (line) {
    if (line.type === 'FinishRun') return finish(world, task, line);
    task.read += 1;
    world.execute('run', task.id, { ...line, now: world.now() } as never);
    return false;
  }
  if (!process.isRunning) return fail(world, task, 'vanished', 'the process is gone');
  if (chance(0.05)) {
    process.isRunning = false;
    return fail(world, task, 'vanished', 'the process was killed');
  }
  act(world, task, { state, computer, process, turn, chance });
  return false;
}

interface Agent {
  state: Run;
  computer: Computer;
  process: Process;
  turn: number;
  chance: Chance;
}

/** What the harness does with what it was told, and what the agent does then. */
function act(world: SimWorld, task: Task, agent: Agent): void {
  const { state, process, computer, turn, chance } = agent;
  const before = process.output.length;
  hear(world, agent);
  if (state.cancelling !== null) return end(world, agent, 'cancelled');
  answer(world, agent);
  if (state.deferring !== null && process.asks.size > 0) {
    for (const id of process.asks) world.pending.add(id);
    return end(world, agent, 'deferred');
  }
  if (process.output.length > before) return;
  if (!process.hasPrompt) {
    if (chance(0.3)) return;
    process.hasPrompt = true;
    process.output.push({ type: 'MarkDelivered', data: {} });
    for (const id of world.pending) if (id !== state.request.answered?.ask.id) ask(agent, id);
    world.pending.clear();
    return;
  }
  const [open] = process.asks;
  if (open !== undefined) {
    if (chance(0.1)) {
      world.givenUp.add(`${task.id} ${open}`);
      return close(agent, open);
    }
    if (process.asks.size < ASKS_MAX && chance(0.3)) return askAnew(agent, task);
    if (chance(0.1)) return end(world, agent, 'failed');
    task.wakeMs = Infinity;
    return;
  }
  if (chance(0.3)) return askAnew(agent, task);
  const isOpen = isOpenTurn(world, turn);
  makeUnit(world, computer, isOpen);
  if (isOpen) world.turnOfUnit.set(world.unitsMade, turn);
  if (chance(0.5) || task.step < 3) return;
  if (chance(0.08)) return end(world, agent, 'failed', limitOf(world, chance));
  end(world, agent, chance(0.15) ? 'failed' : chance(0.05) ? 'timed_out' : 'succeeded');
}

/** The provider's limit ends in some minutes or hours; now and then it did before it is told [M7]. */
const limitOf = (world: SimWorld, chance: Chance): string =>
  new Date(world.nowMs + (chance(0.5) ? 5 : chance(0.8) ? 180 : -1) * 60_000).toISOString();

/** Messages for the running turn: applied at some time, or given back where they are wanted back. */
function hear(world: SimWorld, { state, process, turn, chance }: Agent): void {
  for (const { message_id, wanted_back } of state.messages) {
    process.told.add(message_id);
    if (process.settled.has(message_id)) continue;
    // A message that is wanted back may have been applied just before that.
    const isTaken = state.cancelling === null && (wanted_back ? chance(0.3) : !chance(0.5));
    if (!isTaken && !wanted_back) continue;
    process.settled.add(message_id);
    if (isTaken) world.gifts.push({ message_id, turn });
    process.output.push({ type: isTaken ? 'MarkDelivered' : 'MarkReturned', data: { message_id } });
  }
}

function answer(world: SimWorld, agent: Agent): void {
  for (const { id, answer: given } of agent.state.asks) {
    if (!given || !agent.process.asks.has(id)) continue;
    world.taken.push(`${agent.state.request.run_id} ${id}`);
    close(agent, id);
  }
}

function close({ process }: Agent, id: string): void {
  process.asks.delete(id);
  process.output.push({ type: 'CloseAsk', data: { ask_id: id } });
}

const askAnew = (agent: Agent, task: Task): void => {
  agent.process.asked += 1;
  ask(agent, `ask-${partNumber(task.id)}-${agent.process.asked}`);
};

function ask({ process }: Agent, id: string): void {
  process.asks.add(id);
  const isQuestion = id.length % 2 === 0;
  const question = { id: 'q', text: `${id}?`, choices: [], is_multiple: false };
  const kind = isQuestion ? 'question' : 'decision';
  process.output.push({ type: 'NoteAsk', data: { ask: { id, kind, questions: [question] } } });
}

/** Every message and every ask is settled before the end, unless the harness just went away. */
function end(world: SimWorld, agent: Agent, outcome: string, resetsAt?: string): void {
  const { process, chance, state } = agent;
  const isOrderly = !chance(0.3);
  if (isOrderly)
    for (const id of process.asks) {
      if (outcome !== 'deferred') world.givenUp.add(`${state.request.run_id} ${id}`);
      close(agent, id);
    }
  for (const message_id of process.told)
    if (!process.settled.has(message_id) && isOrderly) {
      process.settled.add(message_id);
      process.output.push({ type: 'MarkReturned', data: { message_id } });
    }
  process.isRunning = false;
  process.output.push(ended(outcome, state.request, resetsAt));
}

const ended = (outcome: string, { harness }: Run['request'], resetsAt?: string): Line => ({
  type: 'FinishRun',
  data: {
    outcome,
    summary: outcome,
    usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0 },
    harness_session: conversationOf(harness),
    conversation: 'native',
    ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
    ...(outcome === 'succeeded' ? { exit_code: 0 } : { error: `it ${outcome}` }),
  },
});

/** A harness knows its own conversation, and no other's. */
export const conversationOf = (harness: string): string => `a conversation with ${harness}`;

function finish(world: SimWorld, task: Task, line: Line): true {
  world.execute('run', task.id, { ...line, now: world.now() } as never);
  return true;
}

function fail(world: SimWorld, task: Task, code: string, reason: string): true {
  const data = { code, reason, sandbox_gone: code === 'sandbox_gone' };
  world.execute('run', task.id, { type: 'FailRun', now: world.now(), data });
  return true;
}

function started(world: SimWorld, task: Task): false {
  const data = { conversation: 'native' };
  world.execute('run', task.id, { type: 'MarkStarted', now: world.now(), data });
  return false;
}

export function isOpenTurn(world: SimWorld, turn: number): boolean {
  const { phase } = world.session();
  return phase.state === 'ACTIVE' && phase.turn === turn && phase.step !== 'ended';
}

export function makeUnit(world: SimWorld, computer: Computer, isPromised: boolean): void {
  world.unitsMade += 1;
  computer.tree.add(world.unitsMade);
  computer.made.add(world.unitsMade);
  if (!isPromised) computer.stray.add(world.unitsMade);
}

/**
 * What the sandbox itself guarantees: the start of a run stops any other, and an older run does
 * not start after a newer one. What the log has to guarantee is checked: a run starts once, and
 * no other sandbox of the session has a process whose turn is open [M5].
 */
function startProcess(world: SimWorld, computer: Computer, { request }: Run): boolean {
  const { run_id: runId, turn } = request;
  const numbers = [...computer.processes.keys()].map((id) => partNumber(id));
  if (numbers.some((n) => n > partNumber(runId))) return false;
  for (const other of computer.processes.values()) other.isRunning = false;
  for (const other of world.computers.values())
    for (const [id, p] of other.processes)
      if (other !== computer && p.isRunning && isOpenTurn(world, p.turn))
        throw new SimFailure(`(b) ${runId} started while ${id} was at work in ${other.id}`);
  for (const [id, talked] of computer.talks)
    if (talked.isRunning)
      throw new SimFailure(`(b) ${runId} started while somebody talks in ${id}`);
  const starts = (world.starts.get(runId) ?? 0) + 1;
  world.starts.set(runId, starts);
  if (starts > 1) throw new SimFailure(`(b) ${runId} started twice`);
  const messageId = turnOf(world.session(), turn)?.message_id;
  const sameMessage = world.session().turns.filter((t) => t.message_id === messageId);
  if (sameMessage.length > 1) throw new SimFailure(`(b) ${messageId} was given to two turns`);
  computer.processes.set(runId, {
    turn,
    isRunning: true,
    output: [],
    hasPrompt: false,
    told: new Set(),
    settled: new Set(),
    asks: new Set(),
    asked: 0,
  });
  return true;
}
