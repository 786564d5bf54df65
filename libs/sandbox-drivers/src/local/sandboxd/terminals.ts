import { TERMINALS_MAX } from '../../sandbox-driver.ts';
import type { MuxStream } from '../wire/mux-stream.ts';
import type { ProcessRequest, SandboxdConfig } from '../wire/protocol.ts';
import { OperationError } from './operation-error.ts';
import { sizeOf, Terminal } from './terminal.ts';

/** The terminals of this sandbox, oldest first. */
export class Terminals {
  private readonly config: SandboxdConfig;
  private readonly terminals = new Map<string, Promise<Terminal>>();

  constructor(config: SandboxdConfig) {
    this.config = config;
  }

  async open(
    stream: MuxStream,
    id: string,
    request: ProcessRequest & { cols: number; rows: number },
  ): Promise<void> {
    await (this.terminals.get(id) ?? this.start(id, request));
    stream.finish({});
  }

  async attach(
    stream: MuxStream,
    id: string,
    view: { from: number; cols: number | null; rows: number | null },
  ): Promise<void> {
    const terminal = await this.terminals.get(id);
    if (!terminal) throw new OperationError('not_found', `there is no terminal ${id} here`);
    await terminal.show(stream, view.from, sizeOf(view.cols, view.rows));
  }

  async list(stream: MuxStream): Promise<void> {
    const terminals = await Promise.all(
      [...this.terminals].map(async ([id, starting]) => {
        const terminal = await starting.catch(() => null);
        if (!terminal) return null;
        return {
          id,
          created_at_ms: terminal.createdAt.getTime(),
          ...terminal.size,
          viewers: terminal.viewerCount,
          printed: terminal.scrollback.end,
          exit: terminal.end,
        };
      }),
    );
    stream.finish({ terminals: terminals.filter((each) => each !== null) });
  }

  async close(stream: MuxStream, id: string): Promise<void> {
    const terminal = await this.terminals.get(id)?.catch(() => null);
    await terminal?.close();
    this.terminals.delete(id);
    stream.finish({});
  }

  private async start(
    id: string,
    request: ProcessRequest & { cols: number; rows: number },
  ): Promise<Terminal> {
    const starting = this.makeRoom().then(() => Terminal.start(request, this.config));
    this.terminals.set(id, starting);
    try {
      return await starting;
    } catch (error) {
      // Nothing is left, so that the same start can be tried again.
      this.terminals.delete(id);
      throw error;
    }
  }

  private async makeRoom(): Promise<void> {
    if (this.terminals.size < TERMINALS_MAX) return;
    // A copy: the one that is about to start is not waited for.
    const all = [...this.terminals];
    for (const [id, starting] of all) {
      const terminal = await starting.catch(() => null);
      if (!terminal?.end) continue;
      this.terminals.delete(id);
      return;
    }
    throw new OperationError('exhausted', `${TERMINALS_MAX} terminals are open in this sandbox`);
  }
}
