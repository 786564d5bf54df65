import { harmless, type Paint, type Tone } from './style.ts';

export interface Column<Row> {
  title: string;
  /** For people. */
  show(row: Row): string;
  /** The whole value, for programs; `show` when left out. */
  value?(row: Row): string;
  tone?(row: Row): Tone;
  /** Gives up width when the screen is narrow, the widest first. */
  shrinks?: true;
}

const GAP = 2;
const SHRUNK_MIN = 10;

/** One line a row, cells apart by tabs, nothing cut, no header: what a script wants to read. */
export function tabbed<Row>(columns: Column<Row>[], rows: Row[]): string {
  const cell = (column: Column<Row>, row: Row): string =>
    (column.value ?? column.show)(row).replace(/[\t\r\n]+/g, ' ');
  return rows.map((row) => `${columns.map((column) => cell(column, row)).join('\t')}\n`).join('');
}

/** A header and aligned cells within the screen's width. */
export function aligned<Row>(
  columns: Column<Row>[],
  rows: Row[],
  screen: { columns: number; paint: Paint },
): string {
  const cells = rows.map((row) =>
    columns.map((column) => harmless(column.show(row).replace(/\s+/g, ' ').trim())),
  );
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((line) => letters(line[index] ?? '').length)),
  );
  shrink(columns, widths, screen.columns);
  const lay = (texts: string[], tones: (Tone | undefined)[]): string =>
    texts
      .map((text, index) => {
        const cut = cutTo(text, widths[index] ?? 0);
        const pad = ' '.repeat(Math.max(0, (widths[index] ?? 0) - letters(cut).length + GAP));
        const tone = tones[index];
        return (tone ? screen.paint(tone, cut) : cut) + (index === texts.length - 1 ? '' : pad);
      })
      .join('')
      .trimEnd();
  const titles = columns.map((column) => column.title);
  const quiet = columns.map((): Tone => 'quiet');
  const lines = cells.map((line, index) =>
    lay(
      line,
      columns.map((column) => column.tone?.(rows[index] as Row)),
    ),
  );
  return `${[lay(titles, quiet), ...lines].join('\n')}\n`;
}

function shrink<Row>(columns: Column<Row>[], widths: number[], screenColumns: number): void {
  let over = widths.reduce((sum, width) => sum + width + GAP, -GAP) - screenColumns;
  while (over > 0) {
    const widest = Math.max(...widths.filter((_width, index) => columns[index]?.shrinks));
    if (widest <= SHRUNK_MIN) return;
    widths[widths.findIndex((width, index) => columns[index]?.shrinks && width === widest)] =
      widest - 1;
    over -= 1;
  }
}

const segmenter = new Intl.Segmenter();

/** As a person counts them: an accent or a joined emoji is part of one. */
const letters = (text: string): string[] =>
  Array.from(segmenter.segment(text), ({ segment }) => segment);

function cutTo(text: string, width: number): string {
  const all = letters(text);
  return all.length <= width ? text : `${all.slice(0, Math.max(0, width - 1)).join('')}…`;
}
