import type { ActivityDelta, ActivityItem } from '@hangar/contracts';
import type { Output } from '../../output/output.ts';
import { durationText } from '../../output/quantities.ts';
import { harmless, toneOfState } from '../../output/style.ts';
import type { Terminal } from '../../terminal.ts';
import { usageText } from './session-text.ts';
import { toolText } from './tool-text.ts';

/** Of a tool's output, the last; `--json` has all that was kept. */
const OUTPUT_LINES_SHOWN_MAX = 12;

/** Prints activity in order: for people at a screen, with tabs in a pipe, or one JSON item a line. */
export interface ActivityPrinter {
  item(item: ActivityItem): void;
  /** Text that is being written; only at a screen. */
  delta(delta: ActivityDelta): void;
  /** Before something else is written: a line that was begun is ended. */
  pause(): void;
}

export function createActivityPrinter(
  output: Output,
  { stdout }: Pick<Terminal, 'stdout'>,
): ActivityPrinter {
  const tools = new Map<string, string>();
  let turn: number | null = null;
  /** What is on the screen of a message that is not whole yet. */
  let written = '';
  const pause = (): void => {
    if (written !== '') stdout.write('\n');
    written = '';
  };
  const head = (number: number): void => {
    if (turn !== number) output.line(output.paint('strong', `turn ${number}`));
    turn = number;
  };
  const message = (text: string): void => {
    // Mostly its beginning is there already; where something was missed it is printed whole.
    const whole = harmless(text);
    if (!whole.startsWith(written)) pause();
    stdout.write(`${whole.slice(written.length)}\n`);
    written = '';
  };
  return {
    pause,
    delta({ turn: number, delta }) {
      if (output.json || !output.isTty) return;
      if (written === '') head(number);
      const text = harmless(delta);
      stdout.write(text);
      written += text;
    },
    item(item) {
      if (output.json) return stdout.write(`${JSON.stringify(item)}\n`);
      if (item.type === 'tool_started') tools.set(item.call_id ?? '', item.tool ?? '');
      const tool = tools.get(item.call_id ?? '');
      if (item.type === 'tool_finished') tools.delete(item.call_id ?? '');
      if (!output.isTty) return output.line(tabbedItem(item, tool ?? ''));
      if (item.type === 'message') {
        if (turn !== item.turn) pause();
        head(item.turn);
        return message(item.text ?? '');
      }
      pause();
      head(item.turn);
      for (const line of linesOf(output, item)) output.line(line);
    },
  };
}

/** time, turn, type, name, result, text. */
function tabbedItem(item: ActivityItem, tool: string): string {
  const { at, turn, type } = item;
  const name = item.tool ?? item.path ?? item.message_id ?? item.kind ?? tool;
  const text = item.text ?? item.input ?? item.output ?? item.reason ?? '';
  const words = item.usage ? usageText(item.usage) : text;
  return [at, String(turn), type, name, resultOf(item), words]
    .map((cell) => cell.replace(/[\t\r\n]+/g, ' '))
    .join('\t');
}

/** The exit code, ok or error of a call, what became of a file, the outcome of a turn. */
function resultOf(item: ActivityItem): string {
  if (item.exit_code !== undefined) return String(item.exit_code);
  if (item.is_error !== undefined) return item.is_error ? 'error' : 'ok';
  return item.change ?? item.outcome ?? (item.attempt === undefined ? '' : String(item.attempt));
}

function linesOf({ paint }: Output, item: ActivityItem): string[] {
  const text = harmless(item.text ?? '');
  switch (item.type) {
    case 'delivered':
      return [paint('quiet', `> message ${item.message_id} reached the agent`)];
    case 'tool_started':
      return [paint('strong', harmless(toolText(item.tool ?? '', item.input ?? '')))];
    case 'tool_finished':
      return finishedLines(item).map(({ line, bad }) => paint(bad ? 'bad' : 'quiet', `  ${line}`));
    case 'file_changed':
      return [`${paint('good', item.change ?? 'changed')} ${harmless(item.path ?? '')}`];
    case 'retrying': {
      const when =
        item.delay_ms === undefined ? '' : `, again in ${durationText(item.delay_ms / 1000)}`;
      return [paint('warn', `retrying (${item.attempt}): ${harmless(item.reason ?? '')}${when}`)];
    }
    case 'asked':
      // A rule may have decided at once; a card says when a person is asked.
      return item.kind === 'decision'
        ? [paint('quiet', `asks leave: ${text}`)]
        : [`${paint('warn', `! ${item.kind}`)} ${text}`];
    case 'ended': {
      const outcome = item.outcome ?? 'ended';
      const tone = toneOfState(outcome === 'succeeded' ? 'IDLE' : 'WARNING');
      const usage = item.usage ? `: ${usageText(item.usage)}` : '';
      return [`turn ${item.turn} ${paint(tone, outcome)}${usage}`];
    }
    default:
      return [paint('quiet', text === '' ? item.type : text)];
  }
}

function finishedLines(item: ActivityItem): { line: string; bad: boolean }[] {
  const all = harmless(item.output ?? '')
    .replace(/\n+$/, '')
    .split('\n');
  const lines = all.length === 1 && all[0] === '' ? [] : all.slice(-OUTPUT_LINES_SHOWN_MAX);
  const cut = all.length - lines.length;
  const isBad = item.is_error === true || (item.exit_code ?? 0) !== 0;
  const end =
    item.exit_code !== undefined ? `exit ${item.exit_code}` : item.is_error ? 'failed' : null;
  return [
    ...(cut > 0 && lines.length > 0 ? [{ line: `... ${cut} lines before`, bad: false }] : []),
    ...lines.map((line) => ({ line, bad: false })),
    ...(end === null ? [] : [{ line: end, bad: isBad }]),
  ];
}
