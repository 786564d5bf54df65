import { Stack, Title } from '@mantine/core';
import { AttentionCard } from '../../components/attention-card.tsx';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import { StateDot } from '../../components/state-dot.tsx';
import { useCards } from '../../lib/cards.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { titleOf } from '../../lib/session-words.ts';
import styles from '../../components/page.module.css';
import { AnchorLink } from '../../components/links.tsx';

/** Every card of all sessions, the one that waits longest first. */
export function NeedsYouPage() {
  usePageTitle('Needs you');
  const { data, error, refetch } = useCards();
  if (error) return <Failed error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading what="what waits on you" />;
  return (
    <div className={styles.page}>
      <Title order={1} size="h4">
        Needs you
      </Title>
      {data.items.length === 0 && (
        <Empty icon="check" title="Nothing waits on you">
          Questions of an agent, decisions on its tool calls, and whatever went wrong will be here.
          A question may wait for days: its session suspends meanwhile, and your answer resumes it.
        </Empty>
      )}
      {data.items.map(({ card, session }) => (
        <Stack key={card.id} gap={4}>
          <div className={styles.line}>
            <AnchorLink to="/sessions/$ref" params={{ ref: session.id }} size="sm" fw={600}>
              {titleOf(session)}
            </AnchorLink>
            <StateDot state={session.state} />
          </div>
          <AttentionCard card={card} session={session} />
        </Stack>
      ))}
    </div>
  );
}
