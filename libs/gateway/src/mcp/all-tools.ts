import type { ToolDefinition } from './tool.ts';
import { activity } from './tools/activity.ts';
import { answer } from './tools/answer.ts';
import { archiveSession } from './tools/archive-session.ts';
import { changes } from './tools/changes.ts';
import { checkpoints } from './tools/checkpoints.ts';
import { decisions } from './tools/decisions.ts';
import { getSession } from './tools/get-session.ts';
import { interruptSession } from './tools/interrupt-session.ts';
import { keepSession } from './tools/keep-session.ts';
import { limits } from './tools/limits.ts';
import { listSessions } from './tools/list-sessions.ts';
import { newSession } from './tools/new-session.ts';
import { openSession } from './tools/open-session.ts';
import { resolveInterruption } from './tools/resolve-interruption.ts';
import { sendToSession } from './tools/send-to-session.ts';
import { suspendSession } from './tools/suspend-session.ts';

/** Every tool, in the order in which an agent is shown them. A new one is a file and a line here. */
export const ALL_TOOLS: readonly ToolDefinition[] = [
  limits,
  newSession,
  listSessions,
  getSession,
  sendToSession,
  answer,
  openSession,
  suspendSession,
  keepSession,
  interruptSession,
  resolveInterruption,
  archiveSession,
  changes,
  activity,
  decisions,
  checkpoints,
];
