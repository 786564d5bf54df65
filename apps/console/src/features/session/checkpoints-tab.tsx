import { Button, Group, Stack, Table, Text } from '@mantine/core';
import type { CheckpointDocument } from '@hangar/contracts';
import { Empty } from '../../components/page-states.tsx';
import { Dot } from '../../components/state-dot.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useAct } from '../../lib/act.ts';
import { CHECKPOINT_PARTS, reasonText } from '../../lib/checkpoint-words.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { bytesText } from '../../lib/quantities.ts';
import { useOpenedSession } from './session-context.tsx';
import styles from './rows.module.css';
import { AnchorLink } from '../../components/links.tsx';

/** What each checkpoint holds, the newest first: the first complete one is what a resume takes. */
export function CheckpointsTab() {
  const { id, checkpoints, state } = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const { act, isActing } = useAct();
  const canTake = mayWrite && ['IDLE', 'ACTIVE', 'INTERRUPTED'].includes(state);
  return (
    <div className={styles.scroller} role="region" aria-label="Checkpoints" tabIndex={0}>
      <Group p="sm" justify="space-between">
        <Text size="sm" c="dimmed">
          Taken after every turn, before the sandbox goes, and in between.
        </Text>
        <Button
          variant="default"
          disabled={!canTake}
          loading={isActing}
          onClick={() => act(() => client.checkpoints.take(id))}
        >
          Take one now
        </Button>
      </Group>
      {checkpoints.length === 0 ? (
        <Empty icon="audit" title="No checkpoint yet">
          {state === 'ARCHIVED'
            ? 'They were dropped when the session was archived.'
            : 'The first one is taken after the first turn.'}
        </Empty>
      ) : (
        <ul className={styles.rows}>
          {checkpoints.toReversed().map((checkpoint, place) => (
            <Checkpoint key={checkpoint.id} checkpoint={checkpoint} isNewest={place === 0} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Checkpoint({
  checkpoint,
  isNewest,
}: {
  checkpoint: CheckpointDocument;
  isNewest: boolean;
}) {
  const { id: ref } = useOpenedSession();
  const { id, complete, turn, reason, taken_at, bytes, skipped, warnings } = checkpoint;
  return (
    <li>
      <details open={isNewest}>
        <summary className={styles.row}>
          <Dot color={complete ? 'teal' : 'orange'} word={complete ? 'Complete' : 'Incomplete'} />
          <Text size="sm" span>
            {reasonText(reason, turn)}
          </Text>
          <span className={`mono ${styles.about}`}>{id}</span>
          <Text size="xs" c="dimmed" span>
            {bytesText(bytes)} · <TimeAgo time={taken_at} />
          </Text>
        </summary>
        <Stack gap="xs" px="sm" pb="sm">
          <Parts checkpoint={checkpoint} />
          {[...skipped, ...warnings].map(({ path, reason: why, bytes: size }, index) => (
            <Text size="xs" key={index}>
              Not kept: {path && <span className="mono">{path}, </span>}
              {why}
              {size !== undefined && ` (${bytesText(size)})`}
            </Text>
          ))}
          <Group gap="sm">
            <AnchorLink
              to="/sessions/$ref/changes"
              params={{ ref }}
              search={{ checkpoint: id }}
              size="xs"
              underline="always"
            >
              Changes in it
            </AnchorLink>
            <Download checkpointId={id} />
          </Group>
        </Stack>
      </details>
    </li>
  );
}

const Parts = ({ checkpoint }: { checkpoint: CheckpointDocument }) => (
  <Table fz="xs" verticalSpacing={2} withRowBorders={false}>
    <Table.Tbody>
      {checkpoint.parts.map(({ name, size }) => (
        <Table.Tr key={name}>
          <Table.Td>{CHECKPOINT_PARTS[name] ?? 'Other'}</Table.Td>
          <Table.Td className="mono">{name}</Table.Td>
          <Table.Td ta="right">{bytesText(size)}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
);

/** Its parts, opened, as a tar. */
function Download({ checkpointId }: { checkpointId: string }) {
  const { id } = useOpenedSession();
  const client = useClient();
  const { act, isActing } = useAct();
  const save = async (): Promise<void> => {
    const tar = await new Response(await client.checkpoints.export(id, checkpointId)).blob();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(tar);
    link.download = `${checkpointId}.tar`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <Button variant="subtle" size="compact-xs" loading={isActing} onClick={() => act(save)}>
      Download
    </Button>
  );
}
