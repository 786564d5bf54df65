import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { AttachedTerminal, HangarClient } from '@hangar/client';
import { until } from './workplace.ts';

/** A viewer that comes back after everything was started anew, on a busy machine. */
const SEES_MS_MAX = 150_000;

export interface Screen {
  attached: AttachedTerminal;
  /** All that came, byte for byte. */
  all(): string;
  /** States it was in, in order. */
  states: string[];
  sizes: string[];
  /** Bytes it was told are not kept any more. */
  lost: number;
  type(text: string): void;
  sees(text: string): Promise<void>;
}

/** A viewer of a terminal, as the CLI and the console are one. */
export function openScreen(
  client: HangarClient,
  ref: string,
  id: string,
  { cols, rows, from = 0 }: { cols: number; rows: number; from?: number } = { cols: 80, rows: 24 },
): Screen {
  const chunks: Uint8Array[] = [];
  const all = (): string => Buffer.concat(chunks).toString('utf8');
  const screen: Screen = {
    all,
    states: [],
    sizes: [],
    lost: 0,
    attached: client.terminals.attach(ref, id, {
      cols,
      rows,
      from,
      onOutput: (bytes) => void chunks.push(bytes),
      onState: (state) => void screen.states.push(state),
      onSize: (size) => void screen.sizes.push(`${size.cols}x${size.rows}`),
      onLost: (bytes) => {
        screen.lost += bytes;
      },
    }),
    type: (text) => {
      if (!screen.attached.write(Buffer.from(text))) throw new Error('the terminal took nothing');
    },
    sees: (text) =>
      until('', async () => all().includes(text), SEES_MS_MAX).catch(() => {
        throw new Error(`never shown: ${text}, but: ${JSON.stringify(all().slice(-500))}`);
      }),
  };
  return screen;
}

/** An interface of the whole screen that shows nothing new for this long waits for keys. */
const QUIET_MS = 1_500;
const AGAIN_MS = 5_000;

/** As a person does: waits until it is ready, types, sees it, and presses the key that sends it. */
export async function enter(screen: Screen, words: string, isHeard: () => boolean): Promise<void> {
  const isQuiet = async (): Promise<void> => {
    let [seen, since] = ['', Date.now()];
    await until('the screen is at rest', async () => {
      if (screen.all() !== seen) [seen, since] = [screen.all(), Date.now()];
      return seen !== '' && Date.now() - since >= QUIET_MS;
    });
  };
  const last = words.split(' ').at(-1) ?? '';
  let before: number;
  // Keys that came too early are forgotten.
  do {
    await isQuiet();
    before = screen.all().length;
    screen.type(words);
    await isQuiet();
  } while (!screen.all().slice(before).includes(last));
  let pressedAt = 0;
  await until(`it has heard ${words}`, async () => {
    if (isHeard()) return true;
    if (Date.now() - pressedAt >= AGAIN_MS) {
      pressedAt = Date.now();
      screen.type('\r');
    }
    return false;
  });
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const NODE = `${ROOT}node_modules/.bin/node`;
export const CLI = `${ROOT}apps/cli/dist/main.js`;

interface Pty {
  onData(listener: (text: string) => void): void;
  write(text: string): void;
}

/** A person's own terminal, in which a shell runs a line. */
export function openTty(
  line: string,
  envVars: Record<string, string>,
): { sees(text: string): Promise<void>; type(text: string): void } {
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as {
    spawn(file: string, argv: string[], options: object): Pty;
  };
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...envVars };
  const pty = spawn('sh', ['-c', line], { cols: 90, rows: 25, env });
  let shown = '';
  pty.onData((text) => {
    shown += text;
  });
  return {
    sees: (text) =>
      until('', async () => shown.includes(text), SEES_MS_MAX).catch(() => {
        throw new Error(`never shown: ${text}, but: ${JSON.stringify(shown.slice(-500))}`);
      }),
    type: (text) => pty.write(text),
  };
}
