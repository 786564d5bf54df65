import type { AttachedTerminal, HangarClient } from '@hangar/client';
import { until } from './workplace.ts';

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
      until(`the screen shows ${text}, but: ${all().slice(-500)}`, async () =>
        all().includes(text),
      ),
  };
  return screen;
}
