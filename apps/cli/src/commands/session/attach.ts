import { Buffer } from 'node:buffer';
import type { AttachedTerminal, TerminalEnd } from '@hangar/client';
import { HangarError, type SessionDocument } from '@hangar/contracts';
import { defineCommand, type RunOptions } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { Failure, refused } from '../../failure.ts';
import { sessionUp } from '../../wait/goal.ts';
import { WAIT_SECONDS_DEFAULT } from '../../wait/wait-seconds.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { reach } from './settle.ts';

/** Ctrl-\\ leaves; hardly any program has a use for it. */
const DETACH = 0x1c;
/** A program of the whole screen has a screen of its own, and says so. */
const OTHER_SCREEN = '\u001b[?1049h';
const OWN_SCREEN = '\u001b[?1049l';
/** What a program may have left behind: hidden cursor, mouse, marked pastes, colours. */
const SCREEN_RESET =
  '\u001b[?25h\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[0m';

export const attachCommand = defineCommand({
  path: ['session', 'attach'],
  summary: 'Open a shell in the sandbox, or talk with the agent itself',
  description:
    'Goes on in the newest shell that nobody looks at, else in a new one. Ctrl-\\ leaves it; it ' +
    'goes on in the sandbox, also when the line breaks, and shows what it printed meanwhile. ' +
    "--agent is the agent's own interface in the conversation of the session, between its turns: " +
    'messages wait until it has ended. Ends with the exit code of the shell.',
  args: SESSION_ARGUMENT,
  flags: {
    agent: { kind: 'switch', help: 'talk with the agent instead' },
    terminal: { kind: 'text', value: 'ID', help: 'this terminal, also beside other viewers' },
    new: { kind: 'switch', help: 'a new shell in any case' },
    open: { kind: 'switch', help: 'start or resume the sandbox first, without asking' },
  },
  examples: ['hangar session attach csv-fix', 'hangar session attach csv-fix --agent --open'],
  json: 'none: this is a screen; hangar session terminals has --json',
  routes: [
    'POST /api/sessions/{ref}/terminals',
    'GET /api/sessions/{ref}/terminals/{id}/attach',
    'GET /api/sessions/{ref}/terminals',
    'GET /api/sessions/{ref}',
    'POST /api/sessions/{ref}/open',
  ],
  async run(options) {
    const { args, flags, client, output, terminal } = options;
    if (output.json)
      throw refused('There is no JSON of a screen.', 'See session terminals --json.');
    if (!terminal.stdin.isTty || !terminal.stdout.isTty) {
      throw refused('This needs a screen and a keyboard.', 'Use hangar session exec in scripts.');
    }
    const session = await client.sessions.get(args.session);
    await bringUp(options, session, flags.open);
    const id = flags.terminal ?? (await chosen(options, session, flags));
    output.note(`${session.name}: terminal ${id}; Ctrl-\\ leaves it, and it goes on`);
    return show(options, session, id);
  },
});

type Options = Pick<RunOptions, 'client' | 'output' | 'terminal' | 'waitSeconds'>;

const ASLEEP: ReadonlySet<string> = new Set(['SUSPENDED', 'FAILED']);

/** A terminal resumes nothing by itself: a person says so. */
async function bringUp(options: Options, session: SessionDocument, open: boolean): Promise<void> {
  const { client, terminal } = options;
  const isComing = session.state === 'STARTING' || session.state === 'RESUMING';
  if (!isComing && !ASLEEP.has(session.state)) return;
  if (!isComing && !open) {
    const question = `Session ${session.name} is ${session.state}. Open it? [y/N] `;
    const answer = await terminal.stdin.ask(question, { secret: false });
    if (!/^y(es)?$/i.test(answer.trim())) throw refused('It was not opened.', 'Use --open.');
  }
  const opened = isComing ? session : await client.sessions.open(session.id);
  const waitSeconds = WAIT_SECONDS_DEFAULT;
  const fromVersion = session.version;
  await reach({ ...options, waitSeconds }, opened, { goal: sessionUp(), fromVersion });
}

async function chosen(
  { client, terminal }: Options,
  { id: ref }: SessionDocument,
  flags: { agent: boolean; new: boolean },
): Promise<string> {
  const kind = flags.agent ? 'agent' : 'shell';
  const { items } = await client.terminals.list(ref);
  const open = items.filter((each) => each.kind === kind && each.state !== 'ended');
  const found = flags.agent ? open.at(-1) : open.findLast(({ viewers }) => viewers === 0);
  if (found && !flags.new) return found.id;
  const { columns: cols, rows } = terminal.stdout;
  return (await client.terminals.open(ref, { kind, cols, rows })).id;
}

async function show(options: Options, session: SessionDocument, id: string): Promise<number> {
  const { client, terminal, output } = options;
  const { stdin, stdout } = terminal;
  let wasLost = false;
  let isOther = false;
  const note = (text: string): void => output.note(`\r\nhangar: ${text}\r`);
  const attached = client.terminals.attach(session.id, id, {
    cols: stdout.columns,
    rows: stdout.rows,
    onOutput(bytes) {
      isOther = endsOnOther(bytes, isOther);
      return stdout.writeBytes(bytes);
    },
    onState(state, reason) {
      if (state === 'reconnecting' && !wasLost) note(`${reason}; trying again (Ctrl-\\ leaves)`);
      if (state === 'attached' && wasLost) note('back again');
      wasLost = state === 'reconnecting';
    },
    onLost: (bytes) => note(`${bytes} bytes of older output are not kept any more`),
  });
  const restore = stdin.openRaw((keys) => typed(attached, keys));
  const unwatch = stdout.onResize(() => attached.resize(stdout.columns, stdout.rows));
  const leave = (): void => attached.detach();
  terminal.signal.addEventListener('abort', leave);
  let end: TerminalEnd;
  try {
    end = await attached.ended;
  } finally {
    unwatch();
    terminal.signal.removeEventListener('abort', leave);
    restore();
    stdout.write(`${isOther ? OWN_SCREEN : ''}${SCREEN_RESET}\r\n`);
  }
  return codeOf(end, { name: session.name, id, options });
}

function endsOnOther(bytes: Uint8Array, before: boolean): boolean {
  const text = Buffer.from(bytes).toString('latin1');
  const [entered, left] = [text.lastIndexOf(OTHER_SCREEN), text.lastIndexOf(OWN_SCREEN)];
  return entered === left ? before : entered > left;
}

function typed(attached: AttachedTerminal, keys: Uint8Array): void {
  const at = keys.indexOf(DETACH);
  attached.write(at < 0 ? keys : keys.slice(0, at));
  if (at >= 0) attached.detach();
}

function codeOf(
  end: TerminalEnd,
  { name, id, options }: { name: string; id: string; options: Options },
): number {
  const { output } = options;
  const again = `hangar session attach ${name} --terminal ${id}`;
  switch (end.kind) {
    case 'detached':
      output.note(`left ${id}, which goes on: ${again}`);
      return EXIT.ok;
    case 'exit':
      if (end.exitCode !== null) return end.exitCode;
      throw new Failure({
        code: 'conflict',
        what: `The terminal has ended: ${end.reason ?? 'nobody said why'}.`,
        kept: 'What was done in it is in the sandbox, or in the newest checkpoint.',
        next: `See hangar session get ${name}.`,
      });
    case 'refused':
      if (end.error.code !== 'unavailable') throw end.error;
      throw new HangarError('unavailable', end.error.message, {
        hint: `It goes on in the sandbox; come back with ${again}`,
      });
  }
}
