import type { SessionEvent } from '@hangar/contracts';
import type { SessionChange } from './session.projection.ts';

type TurnEvent = Extract<SessionEvent, { type: 'TurnRequested' | 'TurnStarted' | 'TurnFinished' }>;

export function projectTurn(session_id: string, event: TurnEvent): SessionChange {
  const where = { session_id, number: event.data.turn };
  switch (event.type) {
    case 'TurnRequested': {
      const { turn, run_id, message_id, message, requested_at } = event.data;
      const unknown = {
        started_at: null,
        finished_at: null,
        outcome: null,
        exit_code: null,
        summary: '',
        usage: null,
        error: null,
        conversation: null,
        checkpoint_id: null,
      };
      const row = { ...where, run_id, message_id, message, requested_at, ...unknown };
      return {
        session: { state: 'ACTIVE', state_reason: `turn ${turn} is starting` },
        others: [{ op: 'add', table: 'turn_view', row }],
      };
    }
    case 'TurnStarted': {
      const { turn, started_at } = event.data;
      return {
        session: { state_reason: `turn ${turn} is running` },
        others: [{ op: 'set', table: 'turn_view', where, row: { started_at } }],
      };
    }
    case 'TurnFinished':
      return finished(session_id, event);
  }
}

function finished(
  session_id: string,
  { data }: Extract<SessionEvent, { type: 'TurnFinished' }>,
): SessionChange {
  const { turn, outcome, summary, usage, conversation, finished_at } = data;
  const isKnown = conversation === 'native' || conversation === 'handoff';
  return {
    session: {
      state_reason: `turn ${turn} ${outcome}`,
      ...(data.harness_session === undefined ? {} : { harness_session: data.harness_session }),
      ...(isKnown ? { conversation } : {}),
    },
    others: [
      {
        op: 'set',
        table: 'turn_view',
        where: { session_id, number: turn },
        row: {
          finished_at,
          outcome,
          exit_code: data.exit_code ?? null,
          summary,
          usage,
          error: data.error ?? null,
          conversation,
        },
      },
    ],
  };
}
