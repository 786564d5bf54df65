import type { Session } from '../session.ts';
import type { Named } from './parts.ts';

export function evolveTalk(
  s: Session,
  event: Named<'TalkRequested' | 'TalkEndRequested' | 'TalkEnded'>,
): Session {
  switch (event.type) {
    case 'TalkRequested': {
      const { terminal_id, request_id, requested_at } = event.data;
      return {
        ...s,
        talk: { terminal_id, request_id, since: requested_at, ending: false },
        talk_number: s.talk_number + 1,
        state_reason: `somebody talks with the agent in terminal ${terminal_id}`,
      };
    }
    case 'TalkEndRequested':
      return { ...s, talk: s.talk && { ...s.talk, ending: true }, state_reason: event.data.reason };
    case 'TalkEnded': {
      const state_reason = `the talk with the agent ended: ${event.data.reason}`;
      const next: Session = { ...s, talk: null, talk_unsaved: true, state_reason };
      // Rest begins here.
      if (s.phase.state === 'IDLE') next.phase = { ...s.phase, since: event.data.ended_at };
      return next;
    }
  }
}
