import { useEffect, useRef } from 'react';
import { Badge, Box } from '@mantine/core';
import { Link, Outlet, useParams, useRouterState } from '@tanstack/react-router';
import { AnchorLink } from '../../components/links.tsx';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { goneSessions } from '../../lib/gone-sessions.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { useSession } from '../../lib/session-query.ts';
import { useStore } from '../../lib/store.ts';
import { titleOf } from '../../lib/session-words.ts';
import { DetailsPanel } from './details-panel.tsx';
import { SessionHeader } from './session-header.tsx';
import { SessionProvider } from './session-context.tsx';
import styles from './session-page.module.css';

const TABS = [
  { to: '/sessions/$ref', label: 'Conversation' },
  { to: '/sessions/$ref/changes', label: 'Changes' },
  { to: '/sessions/$ref/decisions', label: 'Decisions' },
  { to: '/sessions/$ref/checkpoints', label: 'Checkpoints' },
  { to: '/sessions/$ref/terminals', label: 'Terminals' },
  { to: '/sessions/$ref/details', label: 'Details' },
] as const;

export function SessionPage() {
  const { ref } = useParams({ from: '/sessions/$ref' });
  const { data: session, error, refetch } = useSession(ref);
  const gone = useStore(goneSessions);
  usePageTitle(session ? titleOf(session) : 'Session');
  if (!session)
    return error ? (
      <Failed error={error} onAgain={() => void refetch()} />
    ) : (
      <Loading what="the session" />
    );
  if (gone.has(session.id)) return <Gone id={session.id} />;
  return (
    <SessionProvider value={session}>
      <div className={styles.page}>
        <SessionHeader />
        <Tabs sessionRef={ref} cards={session.attention.length} />
        <div className={styles.body}>
          <div className={styles.main}>
            <Outlet />
          </div>
          <Box component="aside" className={styles.aside} aria-label="Details" visibleFrom="lg">
            <DetailsPanel />
          </Box>
        </div>
      </div>
    </SessionProvider>
  );
}

/** On a phone not all of them fit: the one that is shown is brought into sight. */
function Tabs({ sessionRef, cards }: { sessionRef: string; cards: number }) {
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const current = bar.current?.querySelector('[aria-current=page]');
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [path]);
  return (
    <nav ref={bar} className={styles.tabs} aria-label="Session">
      {TABS.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          params={{ ref: sessionRef }}
          activeOptions={{ exact: true }}
          className={label === 'Details' ? `${styles.tab} ${styles.narrow}` : styles.tab}
          activeProps={{ 'aria-current': 'page' }}
        >
          {label}
          {label === 'Conversation' && cards > 0 && (
            <Badge size="xs" circle aria-label={`${cards} wait on you`}>
              {cards}
            </Badge>
          )}
        </Link>
      ))}
    </nav>
  );
}

const Gone = ({ id }: { id: string }) => (
  <Empty icon="sessions" title="This session was deleted">
    Its audit trail is kept:{' '}
    <AnchorLink to="/audit" search={{ session: id }} size="sm" underline="always">
      read its log
    </AnchorLink>
    .
  </Empty>
);
