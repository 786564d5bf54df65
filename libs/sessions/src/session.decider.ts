import { HangarError, type SessionEvent } from '@hangar/contracts';
import { answerCard, closeAsk, raiseAsk } from './decide/ask.ts';
import {
  missCheckpoint,
  noteUnchanged,
  recordCheckpoint,
  takeCheckpoint,
} from './decide/checkpoint.ts';
import {
  archiveSession,
  changePermissions,
  createSession,
  deleteSession,
  keepSession,
  openSession,
  renameSession,
} from './decide/lifecycle.ts';
import {
  continueSession,
  interruptTurn,
  retryTurn,
  sendMessage,
  takeBackMessage,
} from './decide/message.ts';
import { finishRestore, tryOlderCheckpoint } from './decide/restore.ts';
import {
  attachSandbox,
  failIfLate,
  failStart,
  finishRelease,
  loseSandbox,
  noteStartPhase,
} from './decide/sandbox.ts';
import {
  checkpointIfDue,
  keepOrSuspend,
  suspendIfIdle,
  suspendIfReleaseLate,
  suspendSession,
} from './decide/suspend.ts';
import {
  finishTurn,
  loseTurn,
  noteDelivery,
  noteTurnStarted,
  returnMessage,
} from './decide/turn.ts';
import { endTalk, finishTalk, startTalk } from './decide/talk.ts';
import { changeHarness } from './decide/harness.ts';
import { endUsageLimit } from './decide/usage-limit.ts';
import { ASKED_BY_PEOPLE, type SessionCommand } from './session.commands.ts';
import type { Session, SessionState } from './session.ts';

/** Events that a command gives, none when it is already so; refusals are thrown. */
export function decide(state: SessionState, command: SessionCommand): SessionEvent[] {
  if (command.type === 'CreateSession') return createSession(state, command);
  if (state) return decideFor(state, command);
  // What the policy says of a session that is not there is quiet; people hear of it.
  if (!ASKED_BY_PEOPLE.includes(command.type)) return [];
  throw new HangarError('not_found', 'no such session');
}

function decideFor(
  s: Session,
  command: Exclude<SessionCommand, { type: 'CreateSession' }>,
): SessionEvent[] {
  switch (command.type) {
    case 'OpenSession':
      return openSession(s, command);
    case 'SendMessage':
      return sendMessage(s, command);
    case 'TakeBackMessage':
      return takeBackMessage(s, command);
    case 'SuspendSession':
      return suspendSession(s, command);
    case 'ArchiveSession':
      return archiveSession(s, command);
    case 'DeleteSession':
      return deleteSession(s, command);
    case 'KeepSession':
      return keepSession(s, command);
    case 'InterruptTurn':
      return interruptTurn(s, command);
    case 'RetryTurn':
      return retryTurn(s, command);
    case 'ContinueSession':
      return continueSession(s, command);
    case 'StartTalk':
      return startTalk(s, command);
    case 'EndTalk':
      return endTalk(s, command);
    case 'FinishTalk':
      return finishTalk(s, command);
    case 'RenameSession':
      return renameSession(s, command);
    case 'TakeCheckpoint':
      return takeCheckpoint(s, command);
    case 'NoteStartPhase':
      return noteStartPhase(s, command);
    case 'AttachSandbox':
      return attachSandbox(s, command);
    case 'FailStart':
      return failStart(s, command);
    case 'LoseSandbox':
      return loseSandbox(s, command);
    case 'FinishRelease':
      return finishRelease(s, command);
    case 'KeepOrSuspend':
      return keepOrSuspend(s, command);
    case 'FinishRestore':
      return finishRestore(s, command);
    case 'TryOlderCheckpoint':
      return tryOlderCheckpoint(s, command);
    case 'NoteTurnStarted':
      return noteTurnStarted(s, command);
    case 'NoteDelivery':
      return noteDelivery(s, command);
    case 'ReturnMessage':
      return returnMessage(s, command);
    case 'RaiseAsk':
      return raiseAsk(s, command);
    case 'CloseAsk':
      return closeAsk(s, command);
    case 'AnswerCard':
      return answerCard(s, command);
    case 'ChangePermissions':
      return changePermissions(s, command);
    case 'FinishTurn':
      return finishTurn(s, command);
    case 'LoseTurn':
      return loseTurn(s, command);
    case 'RecordCheckpoint':
      return recordCheckpoint(s, command);
    case 'NoteUnchanged':
      return noteUnchanged(s, command);
    case 'MissCheckpoint':
      return missCheckpoint(s, command);
    case 'SuspendIfIdle':
      return suspendIfIdle(s, command);
    case 'CheckpointIfDue':
      return checkpointIfDue(s, command);
    case 'FailIfLate':
      return failIfLate(s, command);
    case 'ChangeHarness':
      return changeHarness(s, command);
    case 'EndUsageLimit':
      return endUsageLimit(s, command);
    case 'SuspendIfReleaseLate':
      return suspendIfReleaseLate(s, command);
  }
}
