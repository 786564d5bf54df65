import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMAS, type AnyEvent, type TerminalEvent } from '@hangar/contracts';
import { decideTerminal, type TerminalCommand, type TerminalCommands } from './terminal.decider.ts';
import { terminalPolicy } from './terminal.policy.ts';
import { evolveTerminal, initialTerminal, type TerminalRequest } from './terminal.ts';

const FIXTURES = new URL('../../contracts/fixtures/', import.meta.url);
const fixture = (type: string): AnyEvent =>
  ({
    type,
    data: JSON.parse(readFileSync(new URL(`${type}.v1.json`, FIXTURES), 'utf8')),
  }) as AnyEvent;

const NOW = '2030-01-01T12:00:00.000Z';
const command = <K extends keyof TerminalCommands>(type: K, data: TerminalCommands[K]) =>
  ({ type, data, now: NOW }) as TerminalCommand;
const start = command('StartTerminal', fixture('TerminalRequested').data as TerminalRequest);
const started = command('MarkTerminalStarted', {});
const end = command('EndTerminal', { reason: 'ended by a person' });
const finish = command('FinishTerminal', { reason: 'the agent was left', exit_code: 0 });

const told = (...commands: TerminalCommand[]): TerminalEvent[] => {
  const events: TerminalEvent[] = [];
  for (const each of commands)
    events.push(...decideTerminal(events.reduce(evolveTerminal, initialTerminal), each));
  return events;
};
const types = (events: TerminalEvent[]): string[] => events.map(({ type }) => type);

describe('the terminal of a talk', () => {
  it('starts once and ends once [M5]', () => {
    expect(types(told(start, start, started, started, end, end, finish, finish))).toEqual([
      'TerminalRequested',
      'TerminalStarted',
      'TerminalEndRequested',
      'TerminalEnded',
    ]);
  });

  it.each([start, started, end, finish])('after its end $type is quiet', (late) => {
    const over = told(start, started, finish).reduce(evolveTerminal, initialTerminal);
    expect(decideTerminal(over, late)).toEqual([]);
  });

  it.each([started, end, finish])('before its start $type is quiet', (early) => {
    expect(decideTerminal(initialTerminal, early)).toEqual([]);
  });

  it('says how it ended, and of which sandbox', () => {
    expect(told(start, started, finish).at(-1)?.data).toEqual({
      terminal_id: 'trm-1a2b3c4d-1',
      session_id: 'ses-1a2b3c4d',
      epoch: 1,
      reason: 'the agent was left',
      exit_code: 0,
      ended_at: NOW,
    });
  });
});

describe('what sessions tell', () => {
  const HEARD = ['TalkRequested', 'TalkEndRequested'];

  it('a talk is wanted, or no longer wanted', () => {
    const [wanted] = terminalPolicy(fixture('TalkRequested'), NOW);
    expect(wanted).toEqual({ terminal_id: 'trm-1a2b3c4d-1', command: { ...start } });
    expect(terminalPolicy(fixture('TalkEndRequested'), NOW)).toEqual([
      { terminal_id: 'trm-1a2b3c4d-1', command: end },
    ]);
  });

  it.each([...EVENT_SCHEMAS.keys()].filter((type) => !HEARD.includes(type)))(
    '%s is nothing to a terminal',
    (type) => {
      expect(terminalPolicy(fixture(type), NOW)).toEqual([]);
    },
  );
});
