import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button, Stack } from '@mantine/core';
import { AttentionCard } from '../../../components/attention-card.tsx';
import { Empty } from '../../../components/page-states.tsx';
import { useLiveActivity } from '../../../lib/activity-live.ts';
import { plural } from '../../../lib/quantities.ts';
import { MessageBox } from '../message-box.tsx';
import { QueueRows } from '../queue-rows.tsx';
import { useOpenedSession } from '../session-context.tsx';
import { StartPhase } from './start-phase.tsx';
import { TurnView } from './turn-view.tsx';
import styles from './conversation.module.css';

/** Turns shown at first, and more with each press of the button above them. */
const TURNS_SHOWN = 10;

export function ConversationTab() {
  const session = useOpenedSession();
  const { id, turns, attention } = session;
  const [shown, setShown] = useState(TURNS_SHOWN);
  const [liveFrom] = useState(() => turns.at(-1)?.number ?? 0);
  useLiveActivity(id, liveFrom);
  const scroller = useStaysAtEnd();
  const hidden = Math.max(0, turns.length - shown);
  return (
    <>
      <div
        className={styles.scroller}
        ref={scroller}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
      >
        <Stack gap="lg" className={styles.turns}>
          {hidden > 0 && (
            <Button variant="subtle" onClick={() => setShown(shown + TURNS_SHOWN)}>
              Show {plural(Math.min(hidden, TURNS_SHOWN), 'earlier turn')} of {hidden}
            </Button>
          )}
          {turns.length === 0 && <NothingYet />}
          {turns.slice(hidden).map((turn) => (
            <TurnView key={turn.number} turn={turn} isLive={turn.number >= liveFrom} />
          ))}
          <StartPhase />
          {attention.map((card) => (
            <AttentionCard key={card.id} card={card} session={session} />
          ))}
          <QueueRows />
        </Stack>
      </div>
      <MessageBox />
    </>
  );
}

function NothingYet() {
  const { queue, start_phase } = useOpenedSession();
  if (queue.length > 0 || start_phase !== null) return null;
  return (
    <Empty icon="comment" title="No turn yet">
      Write what the agent should do. Its work is saved after every turn.
    </Empty>
  );
}

/** Nearer to the end than this counts as at the end. */
const AT_END_PX = 80;

/** Keeps the newest in sight while the reader is there, and leaves who reads above alone. */
function useStaysAtEnd() {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && isAtEnd.current) box.scrollTop = box.scrollHeight;
  });
  useEffect(() => {
    const box = scroller.current;
    const inner = box?.firstElementChild;
    if (!box || !inner) return;
    const look = (): void => {
      isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END_PX;
    };
    const grown = new ResizeObserver(() => {
      if (isAtEnd.current) box.scrollTop = box.scrollHeight;
    });
    grown.observe(inner);
    box.addEventListener('scroll', look, { passive: true });
    return () => {
      grown.disconnect();
      box.removeEventListener('scroll', look);
    };
  }, []);
  return scroller;
}
