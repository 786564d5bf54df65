import { useState, type SubmitEvent } from 'react';
import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { EnvironmentDocument } from '@hangar/contracts';
import { Failed } from '../../components/page-states.tsx';
import { useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';
import { recipeDocument, recipeYaml } from './recipe-yaml.ts';

interface EnvironmentDialogProps {
  /** Left out: a new one. */
  environment?: EnvironmentDocument | undefined;
  onClose(): void;
}

const EXAMPLE = `# All keys are optional.
setup:
  - npm ci
env:
  CI: "1"
secrets: []
idle_minutes: 30
`;

/** The recipe is written as YAML, the same that `hangar env apply` takes. */
export function EnvironmentDialog({ environment, onClose }: EnvironmentDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const [name, setName] = useState(environment?.name ?? '');
  const [yaml, setYaml] = useState(environment ? recipeYaml(environment.recipe) : EXAMPLE);
  const [error, setError] = useState<unknown>(null);
  const [isSaving, setSaving] = useState(false);
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setSaving(true);
    try {
      await client.environments.applyYaml(name, recipeDocument(yaml));
      await queries.invalidateQueries({ queryKey: keys.environments });
      onClose();
    } catch (failure) {
      setError(failure);
      setSaving(false);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={environment ? `Change ${environment.name}` : 'New environment'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          {!environment && (
            <TextInput
              label="Name"
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              data-autofocus
            />
          )}
          <Textarea
            label="Recipe (YAML)"
            description="A changed recipe is a new version; sandboxes are made by it from then on."
            autosize
            minRows={8}
            maxRows={22}
            value={yaml}
            onChange={(event) => setYaml(event.currentTarget.value)}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            spellCheck={false}
          />
          {error !== null && <Failed error={error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isSaving} disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
