/** The harnesses that sessions can run: exact versions, and where hangar has them from. */
import type { HarnessName } from './harness-adapter.ts';

export interface HarnessPackage {
  /** Name in the npm registry; null for one that is not there: a person puts it in its place. */
  npmName: string | null;
  version: string;
  /** The program below the install directory, one symbolic link per harness. */
  program: string;
  /** The suite was run against the CLI itself, and not only against what is said of it. */
  verified: boolean;
}

const PACKAGES: Record<Exclude<HarnessName, 'fake'>, HarnessPackage> = {
  'claude-code': {
    npmName: '@anthropic-ai/claude-code',
    version: '2.1.332',
    program: 'bin/claude',
    verified: true,
  },
  codex: { npmName: '@openai/codex', version: '0.171.0', program: 'bin/codex', verified: true },
  pi: {
    npmName: '@earendil-works/pi-coding-agent',
    version: '1.6.0',
    program: 'bin/pi',
    verified: true,
  },
  opencode: { npmName: 'opencode-ai', version: '1.18.33', program: 'bin/opencode', verified: true },
  gemini: {
    npmName: '@google/gemini-cli',
    version: '0.61.0',
    program: 'bin/gemini',
    verified: true,
  },
  antigravity: { npmName: null, version: '1.3.3', program: 'bin/agy', verified: false },
};

/** null for the harness that is part of hangar itself. */
export function harnessPackage(name: HarnessName): HarnessPackage | null {
  return name === 'fake' ? null : PACKAGES[name];
}

/** Name of a harness's directory below the harness root: `<name>-<version>`. */
export function harnessDirectory(name: HarnessName): string {
  const found = harnessPackage(name);
  return found === null ? name : `${name}-${found.version}`;
}

/** Absolute path of a harness's program below `harnessRoot`. */
export function harnessProgram(name: Exclude<HarnessName, 'fake'>, harnessRoot: string): string {
  return `${harnessRoot}/${harnessDirectory(name)}/${PACKAGES[name].program}`;
}
