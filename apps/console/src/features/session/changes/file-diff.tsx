import { useState } from 'react';
import {
  ActionIcon,
  Button,
  Group,
  Stack,
  Text,
  Textarea,
  useComputedColorScheme,
} from '@mantine/core';
import type { DiffLineAnnotation } from '@pierre/diffs';
import { PatchDiff } from '@pierre/diffs/react';
import { Icon } from '../../../components/icons.tsx';
import { useMay } from '../../../lib/client.tsx';
import { diffLine } from '../../../lib/diff-lines.ts';
import type { DraftComment } from '../../../lib/drafts.ts';
import { useComments } from './use-comments.ts';
import styles from './changes.module.css';

interface FileDiffProps {
  path: string;
  diff: string;
  diffStyle: 'unified' | 'split';
}

/** A comment that was written, or the line that one is being written on. */
type Note = { comment: DraftComment } | { line: number; side: 'old' | 'new' };

const SIDES = { old: 'deletions', new: 'additions' } as const;

/** One file's diff; the + beside a line takes a comment for the agent. */
export function FileDiff({ path, diff, diffStyle }: FileDiffProps) {
  const themeType = useComputedColorScheme('light');
  const mayWrite = useMay('write');
  const { comments, add, remove } = useComments();
  const [writing, setWriting] = useState<{ line: number; side: 'old' | 'new' } | null>(null);
  const own = comments.filter(
    (comment) => comment.path === path && diffLine(diff, comment.side, comment.line) !== null,
  );
  const notes: DiffLineAnnotation<Note>[] = [
    ...own.map((comment) => ({
      side: SIDES[comment.side],
      lineNumber: comment.line,
      metadata: { comment },
    })),
    ...(writing
      ? [{ side: SIDES[writing.side], lineNumber: writing.line, metadata: writing }]
      : []),
  ];
  return (
    <PatchDiff<Note>
      patch={diff}
      disableWorkerPool
      options={{
        diffStyle,
        themeType,
        theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
        // The other one is a program of WebAssembly, which the page's policy does not allow.
        preferredHighlighter: 'shiki-js',
        disableFileHeader: true,
        overflow: 'wrap',
        enableGutterUtility: mayWrite,
        onGutterUtilityClick: ({ end, endSide, side }) =>
          setWriting({
            line: end,
            side: (endSide ?? side) === 'deletions' ? 'old' : 'new',
          }),
      }}
      lineAnnotations={notes}
      renderAnnotation={({ metadata }) =>
        'comment' in metadata ? (
          <Written comment={metadata.comment} onRemove={() => remove(metadata.comment)} />
        ) : (
          <Writing
            onCancel={() => setWriting(null)}
            onDone={(text) => {
              const { line, side } = metadata;
              add({ path, line, side, code: diffLine(diff, side, line) ?? '', text });
              setWriting(null);
            }}
          />
        )
      }
    />
  );
}

const Written = ({ comment, onRemove }: { comment: DraftComment; onRemove(): void }) => (
  <div className={styles.comment}>
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <div>
        <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
          {comment.text}
        </Text>
        <Text size="xs" c="dimmed">
          Goes to the agent with your next message
        </Text>
      </div>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Remove the comment on line ${comment.line}`}
        onClick={onRemove}
      >
        <Icon name="cross" />
      </ActionIcon>
    </Group>
  </div>
);

function Writing({ onDone, onCancel }: { onDone(text: string): void; onCancel(): void }) {
  const [text, setText] = useState('');
  return (
    <div className={styles.comment}>
      <Stack gap="xs">
        <Textarea
          aria-label="Comment"
          placeholder="Comment for the agent"
          autosize
          minRows={2}
          autoFocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onCancel();
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && text.trim() !== '')
              onDone(text);
          }}
        />
        <Group gap="xs">
          <Button disabled={text.trim() === ''} onClick={() => onDone(text)}>
            Add the comment
          </Button>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </div>
  );
}
