/** Recorded output of the real programs (`fixtures/*.jsonl`), read through a fresh protocol. */
import { readFileSync } from 'node:fs';
import type { HarnessEvent, TurnProtocol, TurnResult, TurnSpec } from '../harness-adapter.ts';

export interface ReadTurn {
  events: HarnessEvent[];
  /** Keys of what the protocol wrote because of the output. */
  keys: string[];
  lines: string[];
  result: TurnResult | null;
}

export function readTurn(protocol: TurnProtocol, lines: string[]): ReadTurn {
  const steps = lines.map((line) => protocol.line(line));
  const events = steps.flatMap((step) => step.events);
  const inputs = steps.flatMap((step) => step.inputs);
  const ended = events.find((event) => event.type === 'ended');
  return {
    events,
    keys: inputs.map(({ key }) => key),
    lines: inputs.map(({ line }) => line),
    result: ended?.type === 'ended' ? ended.result : null,
  };
}

export function recordedLines(directory: string, name: string): string[] {
  const text = readFileSync(`${directory}/fixtures/${name}.jsonl`, 'utf8');
  return text.split('\n').filter((line) => line !== '');
}

export function recordedBytes(directory: string, name: string): Uint8Array {
  return readFileSync(`${directory}/fixtures/${name}.jsonl`);
}

/** The turn of a recording: `number` counts from 1 in its conversation. */
export function recordedTurn(number: number, fields: Partial<TurnSpec> = {}): TurnSpec {
  return {
    runId: `run-00000001-${number}`,
    messageId: `msg-0000000${number}`,
    prompt: 'x',
    cwd: '/workspace/repo',
    home: '/home/agent',
    node: '/usr/bin/node',
    harnessRoot: '/opt/harnesses',
    model: 'some-model',
    conversationId: '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3',
    resume: number > 1,
    envVars: { ANTHROPIC_API_KEY: 'recorded' },
    asksLeave: false,
    keyCommands: {},
    answered: null,
    ...fields,
  };
}

/** A text with the line that holds `needle` cut short, or `text` changed by `change`. */
export function withDamage(bytes: Uint8Array, change: (lines: string[]) => string[]): Uint8Array {
  const lines = new TextDecoder().decode(bytes).split('\n');
  return new TextEncoder().encode(change(lines).join('\n'));
}
