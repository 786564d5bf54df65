/** What the parts of the suite share: the setting, turns to run, and bounded waits. */
import { expect } from '@jest/globals';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HarnessAdapter, TurnSpec } from '../harness-adapter.ts';
import { diskConversationFiles } from './disk-conversation-files.ts';
import type { HarnessHome } from './harness-home.ts';
import type { FinishedTurn, HarnessProcess } from './harness-process.ts';

/** The scripted model server, as far as the suite needs it. */
export interface ScriptedModel {
  url: string;
  /** Texts of the person in the newest request that offered tools; empty before one. */
  newestUserTexts(): string[];
  /** What people said and what tools gave, in every request that offered tools. */
  sentTexts(): string[];
  hasRequests(): boolean;
  /** From now on the key is answered with 401. */
  refuse(key: string): void;
  accept(key: string): void;
  /** Keys of the requests that offered tools, oldest first. */
  keys(): string[];
}

export interface HarnessSetting {
  adapter: HarnessAdapter;
  harnessRoot: string;
  model: string | null;
  /** A place for HOME directories that is not the directory for temporary files. */
  homesDirectory: string;
  /** null for the fake harness, which needs no model. */
  scripted: ScriptedModel | null;
  /** Credential and endpoint; `key` must appear in no file. */
  envVars(modelUrl: string, key: string): Record<string, string>;
  /** Which of them is the key, where the CLI asks for it by a command. */
  keyVariable?: string;
  /** Does the harness pass on when a usage limit ends? Pi's error text does not hold it. */
  saysResetTime: boolean;
  /** Does it say that it tries an overloaded provider again? It does unless this is false. */
  saysRetries?: false;
  /** Credentials with which it does, when not every kind gives the time. */
  limitEnvVars?(modelUrl: string, key: string): Record<string, string>;
}

export interface HarnessBench {
  setting: HarnessSetting;
  home: HarnessHome;
  /** A turn of `home` with the setting's model and credentials. */
  spec(fields: Pick<TurnSpec, 'prompt'> & Partial<TurnSpec>, home?: HarnessHome): TurnSpec;
  start(turn: TurnSpec): Promise<HarnessProcess>;
  run(turn: TurnSpec): Promise<FinishedTurn>;
}

/** The credential of every turn of the suite: it must appear in no file. */
export const KEY = 'sk-hangar-suite-0123456789abcdef';
export const CONVERSATION = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
/**
 * What a person may write, as the first message of a conversation: the tests that start one
 * have a different one each, because a start costs seconds.
 */
export const OPENINGS = {
  command: '/clear',
  unknownCommand: '/nosuch thing',
  path: '/etc/hosts is a file',
  option: '--help -x',
  file: '@README.md says',
  shell: '!ls',
  lines: 'a "b" \'c\' \\ $HOME `d`\n\té 日本 😀',
} as const;

/** Writes its pid, then runs until it is killed: what an interrupt or a crash meets. */
export const ENDLESS = 'run: echo $$ > pid.txt; while :; do sleep 0.1; done';

export function conversationId(turn: FinishedTurn): string {
  const found = turn.events.find((event) => event.type === 'conversation');
  if (found?.type !== 'conversation') throw new Error(`no conversation: ${turn.stderr}`);
  return found.id;
}

/** Bounded polls of a condition: 60 s, every 50 ms; OpenCode alone can take 20 s to start. */
async function poll<T>(read: () => Promise<T | null>): Promise<T | null> {
  for (let tries = 0; tries < 1_200; tries += 1) {
    const value = await read();
    if (value !== null) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

/** The pid that `ENDLESS` wrote: the tool is running. */
export async function pidOf(home: HarnessHome): Promise<number> {
  const text = await poll(async () => {
    const read = await readFile(join(home.cwd, 'pid.txt'), 'utf8').catch(() => '');
    return read.endsWith('\n') ? read : null;
  });
  if (text === null) throw new Error('the tool never started');
  return Number(text);
}

/** The message reached the model as it was written. */
export function expectSent(setting: HarnessSetting, prompt: string): void {
  expect(sentText(setting, prompt).slice(0, 60)).toBe(prompt.slice(0, 60));
}

/** So the model tells of the first message of its conversation. */
export const firstSaid = (prompt: string): string => `The first said "${prompt.slice(0, 40)}`;

/** What the model was sent as the newest message; for the fake harness what was written. */
export function sentText(setting: HarnessSetting, written: string): string {
  return setting.scripted ? (setting.scripted.newestUserTexts().at(-1) ?? '') : written;
}

/**
 * What reached the model in this HOME's turns: people's words and the results of tools. The fake
 * harness keeps them in its conversation.
 */
export async function sentTexts({ setting, home }: HarnessBench): Promise<string[]> {
  return setting.scripted?.sentTexts() ?? keptTexts(home, ['user', 'result', 'answer']);
}

/** The messages of people as the newest request held them. */
export async function newestUserTexts({ setting, home }: HarnessBench): Promise<string[]> {
  return setting.scripted?.newestUserTexts() ?? keptTexts(home, ['user']);
}

async function keptTexts(home: HarnessHome, types: string[]): Promise<string[]> {
  const texts: string[] = [];
  for (const path of await diskConversationFiles.list(join(home.home, '.fake-harness/sessions'))) {
    const text = await readFile(path, 'utf8');
    const entries = text.split('\n').filter((line) => line !== '');
    for (const line of entries) {
      const { type, ...entry } = JSON.parse(line);
      if (types.includes(type)) texts.push(entry.text ?? entry.output ?? JSON.stringify(entry));
    }
  }
  return texts;
}

export async function isGone(pid: number): Promise<boolean> {
  const gone = await poll(async () => {
    const found = await stat(`/proc/${pid}`).catch(() => null);
    return found === null ? true : null;
  });
  return gone === true;
}
