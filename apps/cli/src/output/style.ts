import type { Terminal, TerminalOutput } from '../terminal.ts';

export type Tone = 'good' | 'busy' | 'bad' | 'warn' | 'quiet' | 'strong';

const CODES: Record<Tone, string> = {
  good: '32',
  busy: '36',
  bad: '31',
  warn: '33',
  quiet: '2',
  strong: '1',
};

export type Paint = (tone: Tone, text: string) => string;

/** Colour only where a person looks, and never with NO_COLOR; it repeats what the words say. */
export function painter(terminal: Terminal, stream: TerminalOutput): Paint {
  const plain =
    !stream.isTty || Boolean(terminal.env['NO_COLOR']) || terminal.env['TERM'] === 'dumb';
  return plain ? (_tone, text) => text : (tone, text) => `\u001b[${CODES[tone]}m${text}\u001b[0m`;
}

const TONES: Record<string, Tone> = {
  IDLE: 'good',
  ACTIVE: 'busy',
  STARTING: 'busy',
  RESUMING: 'busy',
  SUSPENDING: 'busy',
  SUSPENDED: 'quiet',
  ARCHIVED: 'quiet',
  INTERRUPTED: 'warn',
  ATTENTION: 'warn',
  WARNING: 'warn',
  FAILED: 'bad',
};

export const toneOfState = (state: string): Tone => TONES[state] ?? 'strong';

/**
 * Text from agents and repositories may hold control codes that move the cursor, set the title or
 * answer for the person. Line ends and tabs stay.
 */
export const harmless = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- control codes are what this is about.
  text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\uFFFD');
