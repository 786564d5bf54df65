import { PassThrough } from 'node:stream';
import type {
  ExitStatus,
  TerminalRequest,
  TerminalSize,
  TerminalStatus,
  TerminalView,
} from '../sandbox-driver.ts';

interface Viewer {
  output: PassThrough;
  size: TerminalSize | null;
  resized: ((size: TerminalSize) => void) | undefined;
  left: PromiseWithResolvers<ExitStatus>;
}

/** A terminal that a test or a demo plays; without a player it shows what is typed and ends at Ctrl-D. */
export class FakeTerminal {
  readonly id: string;
  readonly request: TerminalRequest;
  readonly createdAt = new Date();
  private printed = Buffer.alloc(0);
  private size: TerminalSize;
  private exited: ExitStatus | null = null;
  private viewers: Viewer[] = [];
  private listener: ((bytes: Buffer) => void) | undefined;

  constructor(id: string, request: TerminalRequest) {
    this.id = id;
    this.request = request;
    this.size = { cols: request.cols, rows: request.rows };
    this.listener = (bytes) => {
      if (bytes.includes(4)) this.exit();
      else this.print(bytes);
    };
  }

  onInput(listener: (bytes: Buffer) => void): void {
    this.listener = listener;
  }

  print(text: string | Uint8Array): void {
    if (this.exited) return;
    const bytes = Buffer.from(text);
    this.printed = Buffer.concat([this.printed, bytes]);
    for (const { output } of this.viewers) output.write(bytes);
  }

  exit(status: ExitStatus = { kind: 'exited', code: 0 }): void {
    if (this.exited) return;
    this.exited = status;
    for (const { output, left } of this.viewers.splice(0)) {
      output.end();
      left.resolve(status);
    }
  }

  status(): TerminalStatus {
    const viewers = this.viewers.filter(({ size }) => size !== null).length;
    const printed = this.printed.length;
    const { id, createdAt, size, exited } = this;
    return { id, createdAt, ...size, viewers, printed, exit: exited };
  }

  attach(from: number, size: TerminalSize | null): TerminalView {
    const offset = Math.min(from, this.printed.length);
    const output = new PassThrough();
    const left = Promise.withResolvers<ExitStatus>();
    const viewer: Viewer = { output, size, resized: undefined, left };
    output.write(this.printed.subarray(offset));
    if (size) this.take(size);
    if (this.exited) {
      output.end();
      left.resolve(this.exited);
    } else this.viewers.push(viewer);
    return {
      offset,
      ...this.size,
      output,
      exit: left.promise,
      onResize: (listener) => {
        viewer.resized = listener;
      },
      write: async (bytes) => {
        if (!this.exited) this.listener?.(Buffer.from(bytes));
      },
      resize: async (cols, rows) => this.take({ cols, rows }),
      detach: async () => {
        this.viewers = this.viewers.filter((each) => each !== viewer);
        output.destroy();
        left.resolve({ kind: 'connection_lost' });
      },
    };
  }

  private take(size: TerminalSize): void {
    this.size = size;
    for (const { resized } of this.viewers) resized?.(size);
  }
}
