import { kebab } from '../names.ts';
import type { CommandDefinition } from '../command.ts';
import { exportCommand as auditExport } from './audit/export.ts';
import { listCommand as auditList } from './audit/list.ts';
import { replayCommand as auditReplay } from './audit/replay.ts';
import { verifyCommand as auditVerify } from './audit/verify.ts';
import { exportCommand as checkpointExport } from './checkpoint/export.ts';
import { listCommand as checkpointList } from './checkpoint/list.ts';
import { takeCommand as checkpointTake } from './checkpoint/take.ts';
import { createCompletionCommand } from './completion/completion.ts';
import type { CompletionWord } from './completion/scripts.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { applyCommand as envApply } from './env/apply.ts';
import { deleteCommand as envDelete } from './env/delete.ts';
import { getCommand as envGet } from './env/get.ts';
import { listCommand as envList } from './env/list.ts';
import { listCommand as harnessList } from './harness/list.ts';
import { limitsCommand } from './limits.ts';
import { deleteCommand as secretDelete } from './secret/delete.ts';
import { listCommand as secretList } from './secret/list.ts';
import { setCommand as secretSet } from './secret/set.ts';
import { mcpCommand } from './mcp/mcp.ts';
import { activityCommand } from './session/activity.ts';
import { answerCommand } from './session/answer.ts';
import { archiveCommand } from './session/archive.ts';
import { changesCommand } from './session/changes.ts';
import { continueCommand } from './session/continue.ts';
import { decideCommand } from './session/decide.ts';
import { decisionsCommand } from './session/decisions.ts';
import { deleteCommand as sessionDelete } from './session/delete.ts';
import { eventsCommand } from './session/events.ts';
import { attachCommand } from './session/attach.ts';
import { execCommand } from './session/exec.ts';
import { getCommand as sessionGet } from './session/get.ts';
import { harnessCommand } from './session/harness.ts';
import { interruptCommand } from './session/interrupt.ts';
import { keepCommand } from './session/keep.ts';
import { listCommand as sessionList } from './session/list.ts';
import { newCommand } from './session/new.ts';
import { openCommand } from './session/open.ts';
import { permissionsCommand } from './session/permissions.ts';
import { queueCommand } from './session/queue.ts';
import { renameCommand } from './session/rename.ts';
import { retryCommand } from './session/retry.ts';
import { sendCommand } from './session/send.ts';
import { suspendCommand } from './session/suspend.ts';
import { terminalsCommand } from './session/terminals.ts';
import { takeBackCommand } from './session/take-back.ts';
import { createCommand as tokenCreate } from './token/create.ts';
import { listCommand as tokenList } from './token/list.ts';
import { revokeCommand as tokenRevoke } from './token/revoke.ts';
import { versionCommand } from './version.ts';
import { createCommand as webhookCreate } from './webhook/create.ts';
import { deleteCommand as webhookDelete } from './webhook/delete.ts';
import { getCommand as webhookGet } from './webhook/get.ts';
import { listCommand as webhookList } from './webhook/list.ts';
import { redeliverCommand as webhookRedeliver } from './webhook/redeliver.ts';
import { testCommand as webhookTest } from './webhook/test.ts';

/** Every verb, in the order of the help pages. A new one is a file and a line here. */
export const allCommands: readonly CommandDefinition[] = [
  newCommand,
  sessionList,
  sessionGet,
  openCommand,
  sendCommand,
  queueCommand,
  takeBackCommand,
  answerCommand,
  decideCommand,
  activityCommand,
  interruptCommand,
  retryCommand,
  continueCommand,
  keepCommand,
  suspendCommand,
  renameCommand,
  attachCommand,
  terminalsCommand,
  execCommand,
  changesCommand,
  decisionsCommand,
  permissionsCommand,
  harnessCommand,
  eventsCommand,
  archiveCommand,
  sessionDelete,
  checkpointList,
  checkpointTake,
  checkpointExport,
  envApply,
  envList,
  envGet,
  envDelete,
  secretSet,
  secretList,
  secretDelete,
  tokenCreate,
  tokenList,
  tokenRevoke,
  webhookCreate,
  webhookList,
  webhookGet,
  webhookDelete,
  webhookTest,
  webhookRedeliver,
  auditList,
  auditVerify,
  auditExport,
  auditReplay,
  harnessList,
  limitsCommand,
  mcpCommand,
  doctorCommand,
  createCompletionCommand(completionWords),
  versionCommand,
];

const FLAGS_OF_ALL = ['--json', '--url', '--token-file', '--help'];

function completionWords(): CompletionWord[] {
  return allCommands.map(({ path, summary, args, flags, waits }) => ({
    path,
    summary,
    flags: [
      ...Object.keys(flags).map((key) => `--${kebab(key)}`),
      ...(waits ? ['--wait'] : []),
      ...FLAGS_OF_ALL,
    ],
    takesSession: Object.keys(args)[0] === 'session',
  }));
}
