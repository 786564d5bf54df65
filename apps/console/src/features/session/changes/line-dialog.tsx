import { useState, type SubmitEvent } from 'react';
import {
  Button,
  Code,
  Group,
  Modal,
  NativeSelect,
  NumberInput,
  Stack,
  Text,
  Textarea,
} from '@mantine/core';
import type { Changes } from '@hangar/contracts';
import { diffLine } from '../../../lib/diff-lines.ts';
import { useComments } from './use-comments.ts';

interface LineDialogProps {
  file: Changes['files'][number];
  onClose(isDone: boolean): void;
}

/** The same as the + beside a line, for a keyboard or a thumb. */
export function LineDialog({ file, onClose }: LineDialogProps) {
  const { add } = useComments();
  const [line, setLine] = useState<number | string>('');
  const [side, setSide] = useState<'new' | 'old'>('new');
  const [text, setText] = useState('');
  const code = typeof line === 'number' ? diffLine(file.diff ?? '', side, line) : null;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (typeof line !== 'number' || code === null) return;
    add({ path: file.path, line, side, code, text });
    onClose(true);
  };
  return (
    <Modal
      opened
      onClose={() => onClose(false)}
      title={`Comment on ${file.path}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Group grow>
            <NumberInput
              label="Line"
              min={1}
              value={line}
              onChange={setLine}
              required
              data-autofocus
            />
            <NativeSelect
              label="Of the file"
              value={side}
              onChange={(event) => setSide(event.currentTarget.value as 'new' | 'old')}
              data={[
                { value: 'new', label: 'as it is' },
                { value: 'old', label: 'as it was' },
              ]}
            />
          </Group>
          {code === null ? (
            <Text size="xs" c="dimmed">
              Give a line that the diff shows.
            </Text>
          ) : (
            <Code block>{code || ' '}</Code>
          )}
          <Textarea
            label="Comment"
            autosize
            minRows={2}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={() => onClose(false)}>
              Cancel
            </Button>
            <Button type="submit" disabled={code === null || text.trim() === ''}>
              Add the comment
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
