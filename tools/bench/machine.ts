import { execFileSync } from 'node:child_process';
import { cpus, totalmem, release, loadavg } from 'node:os';

const version = (program: string): string => {
  try {
    const text = execFileSync(program, ['--version'], { encoding: 'utf8' });
    return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? 'unknown';
  } catch {
    return 'absent';
  }
};

/** What a reader has to know to compare: the processor, the system, and what else was going on. */
export function describeMachine(): string {
  const all = cpus();
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const tools = `node ${process.versions.node}, git ${version('git')}, nats-server ${version('nats-server')}`;
  return (
    `${all.length} x ${all[0]?.model.trim() ?? 'unknown processor'}, ${memory}, ` +
    `Linux ${release()}, ${tools}, load ${(loadavg()[0] ?? 0).toFixed(1)}`
  );
}
