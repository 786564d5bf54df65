import { SimFailure, type Computer, type SimWorld, type Task } from './sim-world.ts';
import { makeUnit } from './sim-run.ts';

/** A person leaves after so much was said, at the latest. */
const WORDS_MAX = 6;

/** One step of a talk: what became of its process is put on record, else a person says something. */
export function talk(world: SimWorld, task: Task, chance: (p: number) => boolean): boolean {
  const state = world.log.state('terminal', task.id);
  if (!state || state.status === 'ended') return true;
  const computer = world.computers.get(state.request.place.sandbox_id);
  if (!computer?.isAlive) return finish(world, task, 'its sandbox is gone');
  const process = computer.talks.get(task.id);
  if (!process) {
    if (state.status === 'started') return finish(world, task, 'its process is not there');
    if (state.ending !== null) return finish(world, task, state.ending);
    if (chance(0.1)) return finish(world, task, 'the conversation is not there');
    start(world, computer, task.id);
    return false;
  }
  const now = world.now();
  if (state.status === 'requested') {
    world.execute('terminal', task.id, { type: 'MarkTerminalStarted', now, data: {} });
    return false;
  }
  if (!process.isRunning) return finish(world, task, 'the agent was left');
  if (state.ending !== null || task.step > WORDS_MAX || chance(0.2)) {
    process.isRunning = false;
    // The service may be gone before it has put the end on record.
    return chance(0.3) ? false : finish(world, task, state.ending ?? 'the agent was left');
  }
  makeUnit(world, computer, world.session().talk?.terminal_id === task.id);
  return false;
}

/** The terminal ends a run that was given up; a turn or another talk must not be there [M5]. */
function start(world: SimWorld, computer: Computer, terminalId: string): void {
  for (const process of computer.processes.values()) process.isRunning = false;
  for (const other of world.computers.values())
    for (const [id, each] of other.talks)
      if (each.isRunning && other.isAlive)
        throw new SimFailure(`(b) ${terminalId} started while ${id} was at work in ${other.id}`);
  const { phase } = world.session();
  if (phase.state === 'ACTIVE' && phase.step !== 'ended')
    throw new SimFailure(`(b) ${terminalId} started in turn ${phase.turn}`);
  computer.talks.set(terminalId, { isRunning: true });
}

function finish(world: SimWorld, task: Task, reason: string): true {
  const data = { reason };
  world.execute('terminal', task.id, { type: 'FinishTerminal', now: world.now(), data });
  return true;
}
