import { constants } from 'node:fs';
import { access, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { ProcessRequest, SandboxdConfig } from '../wire/protocol.ts';

/** A process as it will be started, or why it cannot be. */
export type Prepared =
  | {
      ok: true;
      /** Where the program was found. */
      program: string;
      argv: [string, ...string[]];
      cwd: string;
      envVars: Record<string, string>;
    }
  | { ok: false; error: string };

/** Processes of the agent are the first that the kernel takes when memory runs out, not sandboxd. */
const OOM_SCORE_ADJUSTMENT = 500;

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** The directory asked for; else the session's, which exists only once the repository is there. */
const chooseCwd = async (asked: string | null, config: SandboxdConfig): Promise<string | null> => {
  if (asked !== null) return (await isDirectory(asked)) ? asked : null;
  return (await isDirectory(config.cwd)) ? config.cwd : config.workspace;
};

const isExecutable = async (path: string): Promise<boolean> =>
  (await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )) && !(await isDirectory(path));

/** Looks the program up as execvp would, so that a missing one is told apart from its exit code. */
const findProgram = async (
  program: string,
  cwd: string,
  searchPath: string,
): Promise<string | null> => {
  if (program.includes('/')) {
    const path = isAbsolute(program) ? program : join(cwd, program);
    return (await isExecutable(path)) ? path : null;
  }
  for (const directory of searchPath.split(':')) {
    const path = join(directory || cwd, program);
    if (await isExecutable(path)) return path;
  }
  return null;
};

export const prepareProcess = async (
  request: ProcessRequest,
  config: SandboxdConfig,
  markers: Record<string, string>,
): Promise<Prepared> => {
  const [program, ...rest] = request.argv;
  if (!program) return { ok: false, error: 'no program was named' };
  const cwd = await chooseCwd(request.cwd, config);
  if (cwd === null) return { ok: false, error: `there is no directory ${request.cwd}` };
  const inherited = Object.entries(process.env).filter((entry) => entry[1] !== undefined);
  const envVars = {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    ...request.envVars,
    ...markers,
  };
  const found = await findProgram(program, cwd, envVars.PATH ?? '');
  if (found === null) return { ok: false, error: `there is no program ${program}` };
  return { ok: true, program: found, argv: [program, ...rest], cwd, envVars };
};

/** Best effort: a process that has ended meanwhile has no score. */
export const offerToOomKiller = async (pid: number): Promise<void> => {
  await writeFile(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE_ADJUSTMENT)).catch(
    () => undefined,
  );
};
