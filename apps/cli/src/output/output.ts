import type { Terminal } from '../terminal.ts';
import type { FailureText } from '../failure.ts';
import { harmless, painter, type Paint } from './style.ts';
import { aligned, tabbed, type Column } from './table.ts';

/** Results go to stdout, everything about them to stderr. */
export interface Output {
  json: boolean;
  /** A person looks at stdout. */
  isTty: boolean;
  paint: Paint;
  /** With `--json` the object, otherwise what `show` prints. */
  result(value: unknown, show: () => void): void;
  line(text: string): void;
  table<Row>(columns: Column<Row>[], rows: Row[], whenEmpty: string): void;
  /** Label and value, one a line; values that are null are left out. */
  fields(pairs: [label: string, value: string | null][]): void;
  /** For the person who waits; silent with `--json`. */
  note(text: string): void;
  noteLine(word: string, text: string): void;
  /** Beside a result that is not text; also with `--json`. */
  bytes(stream: ReadableStream<Uint8Array>): Promise<number>;
  failure(text: FailureText): void;
}

export function createOutput(terminal: Terminal, options: { json: boolean }): Output {
  const { stdout, stderr } = terminal;
  const paint = painter(terminal, stdout);
  const paintNote = painter(terminal, stderr);
  const { json } = options;
  return {
    json,
    isTty: stdout.isTty,
    paint,
    result(value, show) {
      if (json) stdout.write(`${JSON.stringify(value, null, 2)}\n`);
      else show();
    },
    line: (text) => stdout.write(`${text}\n`),
    table(columns, rows, whenEmpty) {
      if (!stdout.isTty) return stdout.write(tabbed(columns, rows));
      if (rows.length === 0) return stderr.write(`${whenEmpty}\n`);
      stdout.write(aligned(columns, rows, { columns: stdout.columns, paint }));
    },
    fields(pairs) {
      const there = pairs.filter((pair): pair is [string, string] => pair[1] !== null);
      const width = Math.max(0, ...there.map(([label]) => label.length));
      for (const [label, value] of there) {
        const name = stdout.isTty ? paint('quiet', label.padEnd(width + 2)) : `${label}\t`;
        const text = stdout.isTty ? harmless(value) : value.replace(/[\t\r\n]+/g, ' ');
        stdout.write(`${name}${text}\n`);
      }
    },
    note(text) {
      if (!json) stderr.write(`${text}\n`);
    },
    noteLine(word, text) {
      if (!json) stderr.write(`${paintNote('strong', word.padEnd(11))} ${harmless(text)}\n`);
    },
    async bytes(stream) {
      let count = 0;
      for await (const piece of stream) {
        count += piece.byteLength;
        await stdout.writeBytes(piece);
      }
      return count;
    },
    failure({ code, what, kept, next }) {
      if (json) {
        const detail = kept === '' ? what : `${what} ${kept}`;
        stderr.write(`${JSON.stringify({ error: { code, detail, hint: next } })}\n`);
        return;
      }
      stderr.write(`${paintNote('bad', 'error:')} ${harmless(what)}\n`);
      if (kept !== '') stderr.write(`${paintNote('quiet', 'kept: ')} ${harmless(kept)}\n`);
      if (next !== '') stderr.write(`${paintNote('strong', 'next: ')} ${harmless(next)}\n`);
    },
  };
}
