/** Everything a command may touch outside of itself, so that a test can stand in for it. */
export interface Terminal {
  stdin: TerminalInput;
  stdout: TerminalOutput;
  stderr: TerminalOutput;
  env: Record<string, string | undefined>;
  cwd: string;
  now(): Date;
  /** Aborted at the first Ctrl-C; its reason is an Interrupted. */
  signal: AbortSignal;
}

export interface TerminalInput {
  isTty: boolean;
  /** All of it. Throws `invalid` above `bytesMax`. */
  readAll(bytesMax: number): Promise<Buffer>;
  /** Line by line, until the end of the input. Throws `invalid` for a line above `charactersMax`. */
  lines(charactersMax: number): AsyncIterable<string>;
  /** One line, typed by a person; `secret` is not shown. */
  ask(question: string, options: { secret: boolean }): Promise<string>;
  /** Every key as it is typed, Ctrl-C too, and not shown; the answer gives the screen back. */
  openRaw(onKeys: (bytes: Uint8Array) => void): () => void;
}

export interface TerminalOutput {
  isTty: boolean;
  /** Columns of the screen; 80 when there is none. */
  columns: number;
  /** Lines of the screen; 24 when there is none. */
  rows: number;
  /** Called when the screen has another size; the answer ends that. */
  onResize(listener: () => void): () => void;
  write(text: string): void;
  /** Resolves when the reader keeps up. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** The reason of a signal that a person's Ctrl-C aborted. */
export class Interrupted extends Error {
  constructor() {
    super('stopped by Ctrl-C');
    this.name = 'Interrupted';
  }
}
