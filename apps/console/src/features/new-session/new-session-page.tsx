import { useState, type SubmitEvent } from 'react';
import { Button, Group, NativeSelect, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { CreateSessionInput } from '@hangar/contracts';
import { Empty, Failed, Loading } from '../../components/page-states.tsx';
import styles from '../../components/page.module.css';
import { useClient } from '../../lib/client.tsx';
import { useEnvironments } from '../../lib/environments-query.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { keys } from '../../lib/queries.ts';
import { useHarnesses } from '../../lib/session-query.ts';
import { slugOf } from '../../lib/slug.ts';
import { harnessesFor } from './harnesses-for.ts';
import { LimitsBefore } from './limits-before.tsx';
import { AnchorLink } from '../../components/links.tsx';

export function NewSessionPage() {
  usePageTitle('New session');
  const environments = useEnvironments();
  const harnesses = useHarnesses();
  const error = environments.error ?? harnesses.error;
  if (error)
    return (
      <Failed
        error={error}
        onAgain={() => void environments.refetch().then(() => harnesses.refetch())}
      />
    );
  if (!environments.data || !harnesses.data) return <Loading what="environments" />;
  if (environments.data.items.length === 0)
    return (
      <Empty icon="environments" title="First an environment">
        A session runs in an environment: a recipe for its sandbox, with setup commands, variables
        and secrets by name. <br />
        <AnchorLink to="/environments" size="sm">
          Define one
        </AnchorLink>
      </Empty>
    );
  return <Form />;
}

interface Fields {
  title: string;
  /** Follows the title until it is written by hand. */
  name: string | null;
  environment: string;
  harness: string;
  model: string;
  repo: string;
  base_branch: string;
  message: string;
}

/** What is filled in, with what follows from it. */
function useFields() {
  const environments = useEnvironments().data?.items ?? [];
  const harnesses = useHarnesses().data?.items ?? [];
  const [fields, setFields] = useState<Fields>({
    title: '',
    name: null,
    environment: environments[0]?.name ?? '',
    harness: '',
    model: '',
    repo: '',
    base_branch: '',
    message: '',
  });
  const recipe = environments.find(({ name }) => name === fields.environment)?.recipe;
  const allowed = harnessesFor(recipe, harnesses);
  return {
    fields: {
      ...fields,
      name: fields.name ?? slugOf(fields.title || fields.message.slice(0, 40)),
      harness: allowed.includes(fields.harness) ? fields.harness : (allowed[0] ?? ''),
    },
    recipe,
    environments: environments.map(({ name }) => name),
    allowed: [...allowed],
    set: (part: Partial<Fields>): void => setFields({ ...fields, ...part }),
  };
}

type Filling = ReturnType<typeof useFields>;

function Form() {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const filling = useFields();
  const { fields, set } = filling;
  const [error, setError] = useState<unknown>(null);
  const [isStarting, setStarting] = useState(false);

  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setStarting(true);
    setError(null);
    try {
      const session = await client.sessions.create(bodyOf(fields));
      queries.setQueryData(keys.session(session.id), session);
      await navigate({ to: '/sessions/$ref', params: { ref: session.id } });
    } catch (failure) {
      setError(failure);
      setStarting(false);
    }
  };
  return (
    <form className={styles.page} onSubmit={(event) => void submit(event)}>
      <Title order={1} size="h4">
        New session
      </Title>
      <Names {...filling} />
      <Agent {...filling} />
      <Repository {...filling} />
      <Textarea
        label="First message"
        placeholder="Left empty, the sandbox opens and waits for you"
        autosize
        minRows={3}
        maxRows={14}
        value={fields.message}
        onChange={(event) => set({ message: event.currentTarget.value })}
      />
      <LimitsBefore environment={fields.environment} harness={fields.harness} />
      {error !== null && <Failed error={error} />}
      <Group gap="xs">
        <Button
          type="submit"
          size="sm"
          loading={isStarting}
          disabled={fields.name === '' || fields.harness === ''}
        >
          Start the session
        </Button>
        <Text size="xs" c="dimmed">
          {fields.message.trim() === '' ? 'Opens the sandbox.' : 'Starts the first turn.'}
        </Text>
      </Group>
    </form>
  );
}

const Names = ({ fields, set }: Filling) => (
  <Group grow align="start" gap="sm" preventGrowOverflow={false}>
    <TextInput
      label="Title"
      placeholder="What it is about"
      value={fields.title}
      onChange={(event) => set({ title: event.currentTarget.value })}
      miw={240}
      autoFocus
    />
    <TextInput
      label="Name"
      placeholder="For commands and the branch"
      value={fields.name}
      onChange={(event) => set({ name: event.currentTarget.value })}
      required
      miw={240}
    />
  </Group>
);

const Agent = ({ fields, set, environments, allowed }: Filling) => (
  <Group grow align="start" gap="sm" preventGrowOverflow={false}>
    <NativeSelect
      label="Environment"
      data={environments}
      value={fields.environment}
      onChange={(event) => set({ environment: event.currentTarget.value })}
      miw={200}
    />
    <NativeSelect
      label="Agent"
      data={allowed}
      value={fields.harness}
      onChange={(event) => set({ harness: event.currentTarget.value })}
      miw={200}
    />
    <TextInput
      label="Model"
      placeholder="The agent's own choice"
      value={fields.model}
      onChange={(event) => set({ model: event.currentTarget.value })}
      miw={200}
    />
  </Group>
);

const Repository = ({ fields, set, recipe }: Filling) => (
  <Group grow align="start" gap="sm" preventGrowOverflow={false}>
    <TextInput
      label="Repository"
      placeholder={recipe?.repo ?? 'https://..., or a path on the server'}
      value={fields.repo}
      onChange={(event) => set({ repo: event.currentTarget.value })}
      miw={240}
    />
    <TextInput
      label="Base branch"
      placeholder={recipe?.base_branch ?? "The repository's own"}
      value={fields.base_branch}
      onChange={(event) => set({ base_branch: event.currentTarget.value })}
      miw={200}
    />
  </Group>
);

/** Without what was left empty: the environment and the agent have their own values for it. */
function bodyOf({ name, environment, harness, ...rest }: Filling['fields']): CreateSessionInput {
  const given = Object.entries(rest).filter(([, value]) => value.trim() !== '');
  return { ...(Object.fromEntries(given) as object), name, environment, harness };
}
