/** Which adapter a name means. A harness is chosen by configuration, never loaded as a plugin. */
import { antigravityAdapter } from './antigravity/antigravity.adapter.ts';
import { claudeCodeAdapter } from './claude-code/claude-code.adapter.ts';
import { codexAdapter } from './codex/codex.adapter.ts';
import { fakeAdapter } from './fake/fake.adapter.ts';
import { geminiAdapter } from './gemini/gemini.adapter.ts';
import type { HarnessAdapter, HarnessName } from './harness-adapter.ts';
import { opencodeAdapter } from './opencode/opencode.adapter.ts';
import { piAdapter } from './pi/pi.adapter.ts';

export const HARNESS_NAMES: readonly HarnessName[] = [
  'claude-code',
  'codex',
  'pi',
  'gemini',
  'opencode',
  'antigravity',
  'fake',
];

export function isHarnessName(name: string): name is HarnessName {
  return HARNESS_NAMES.some((known) => known === name);
}

export function harnessAdapter(name: HarnessName): HarnessAdapter {
  switch (name) {
    case 'claude-code':
      return claudeCodeAdapter;
    case 'codex':
      return codexAdapter;
    case 'pi':
      return piAdapter;
    case 'gemini':
      return geminiAdapter;
    case 'opencode':
      return opencodeAdapter;
    case 'antigravity':
      return antigravityAdapter;
    case 'fake':
      return fakeAdapter;
  }
}
