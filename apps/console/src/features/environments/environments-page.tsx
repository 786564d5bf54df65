import { useState } from 'react';
import { Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { EnvironmentDocument } from '@hangar/contracts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import styles from '../../components/page.module.css';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useClient, useMay } from '../../lib/client.tsx';
import { useEnvironments } from '../../lib/environments-query.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { plural } from '../../lib/quantities.ts';
import { keys } from '../../lib/queries.ts';
import { minutesText } from '../../lib/time.ts';
import { EnvironmentDialog } from './environment-dialog.tsx';
import { recipeYaml } from './recipe-yaml.ts';

type Open = { dialog: 'edit' | 'delete'; environment?: EnvironmentDocument };

export function EnvironmentsPage() {
  usePageTitle('Environments');
  const { data, error, refetch } = useEnvironments();
  const mayWrite = useMay('write');
  const [open, setOpen] = useState<Open | null>(null);
  const add = mayWrite && (
    <Button
      leftSection={<Icon name="plus" size={14} />}
      onClick={() => setOpen({ dialog: 'edit' })}
    >
      New environment
    </Button>
  );
  return (
    <div className={styles.page}>
      <div className={styles.line}>
        <Title order={1} size="h4">
          Environments
        </Title>
        {data && data.items.length > 0 && add}
      </div>
      {error && <Failed error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading what="environments" />}
      {data?.items.length === 0 && (
        <Empty icon="environments" title="No environments yet" action={add}>
          An environment is the recipe that sandboxes are made from: setup commands, variables,
          secrets by name, network and limits. A session needs one.
        </Empty>
      )}
      {data?.items.map((environment) => (
        <EnvironmentRow
          key={environment.name}
          environment={environment}
          onOpen={(dialog) => setOpen({ dialog, environment })}
        />
      ))}
      {open?.dialog === 'edit' && (
        <EnvironmentDialog environment={open.environment} onClose={() => setOpen(null)} />
      )}
      {open?.dialog === 'delete' && open.environment && (
        <DeleteDialog name={open.environment.name} onClose={() => setOpen(null)} />
      )}
    </div>
  );
}

interface RowProps {
  environment: EnvironmentDocument;
  onOpen(dialog: Open['dialog']): void;
}

function EnvironmentRow({ environment, onOpen }: RowProps) {
  const mayWrite = useMay('write');
  const { name, recipe, version, updated_at } = environment;
  const yaml = recipeYaml(recipe);
  return (
    <Paper withBorder p="sm" component="section" aria-label={name}>
      <div className={styles.line}>
        <Stack gap={0} flex={1} miw={200}>
          <Title order={2} size="h6">
            {name}
          </Title>
          <Text size="xs" c="dimmed">
            {wordsOf(recipe)} · version {version}, <TimeAgo time={updated_at} />
          </Text>
        </Stack>
        {mayWrite && (
          <Group gap="xs">
            <Button variant="default" onClick={() => onOpen('edit')}>
              Change
            </Button>
            <Button variant="default" onClick={() => onOpen('delete')}>
              Delete
            </Button>
          </Group>
        )}
      </div>
      <details>
        <Text component="summary" size="xs" c="dimmed" style={{ cursor: 'pointer' }}>
          Recipe
        </Text>
        <Code block>{yaml === '' ? '# everything by default' : yaml}</Code>
      </details>
    </Paper>
  );
}

/** The recipe in a line. */
const wordsOf = (recipe: EnvironmentDocument['recipe']): string =>
  [
    recipe.harnesses ? recipe.harnesses.join(', ') : 'every agent',
    ...(recipe.repo ? [recipe.repo] : []),
    ...(recipe.setup.length > 0 ? [plural(recipe.setup.length, 'setup command')] : []),
    ...(recipe.secrets.length > 0 ? [plural(recipe.secrets.length, 'secret')] : []),
    ...(recipe.network === 'none' ? ['no network'] : []),
    ...(recipe.idle_minutes === undefined
      ? []
      : [
          recipe.idle_minutes === 0
            ? 'kept up'
            : `suspends after ${minutesText(recipe.idle_minutes)}`,
        ]),
  ].join(' · ');

function DeleteDialog({ name, onClose }: { name: string; onClose(): void }) {
  const client = useClient();
  const queries = useQueryClient();
  return (
    <ConfirmDialog
      title={`Delete ${name}`}
      verb="Delete"
      onClose={onClose}
      onConfirm={async () => {
        await client.environments.delete(name);
        await queries.invalidateQueries({ queryKey: keys.environments });
      }}
    >
      No new session can use it. Sessions that have it go on with its last recipe.
    </ConfirmDialog>
  );
}
