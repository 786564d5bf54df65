import { execFile } from 'node:child_process';

const PROGRAM_MS_MAX = 10_000;
const PROGRAM_OUTPUT_BYTES_MAX = 64 * 1024;

/** `code` is null when the program is not there or was stopped. */
export interface ProgramResult {
  code: number | null;
  missing: boolean;
  text: string;
}

/** Runs a program briefly; its output, both streams, is for people. */
export type RunProgram = (file: string, args: string[]) => Promise<ProgramResult>;

export const runProgram: RunProgram = (file, args) =>
  new Promise((resolve) => {
    const options = { timeout: PROGRAM_MS_MAX, maxBuffer: PROGRAM_OUTPUT_BYTES_MAX };
    execFile(file, args, options, (error, stdout, stderr) => {
      const text = `${stdout}${stderr}`.trim();
      if (!error) return resolve({ code: 0, missing: false, text });
      const code = typeof error.code === 'number' ? error.code : null;
      resolve({ code, missing: (error.code as unknown) === 'ENOENT', text: text || error.message });
    });
  });
