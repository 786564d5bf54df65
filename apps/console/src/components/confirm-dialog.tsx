import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useAct } from '../lib/act.ts';

interface ConfirmProps {
  title: string;
  /** What is done, and what cannot be undone. */
  children: ReactNode;
  verb: string;
  onConfirm(): Promise<unknown>;
  onClose(): void;
}

export function ConfirmDialog({ title, children, verb, onConfirm, onClose }: ConfirmProps) {
  const { tryTo, isActing } = useAct();
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="sm">
        <Text size="sm" component="div">
          {children}
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color="red.8"
            loading={isActing}
            onClick={() => void tryTo(onConfirm).then((done) => done && onClose())}
          >
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
