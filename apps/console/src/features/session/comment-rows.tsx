import { ActionIcon, Group, Text } from '@mantine/core';
import { Icon } from '../../components/icons.tsx';
import { plural } from '../../lib/quantities.ts';
import { useComments } from './changes/use-comments.ts';

/** Comments on lines that go with the message. */
export function CommentRows() {
  const { comments, remove } = useComments();
  if (comments.length === 0) return null;
  return (
    <details open={comments.length < 4}>
      <Text component="summary" size="xs" c="dimmed" style={{ cursor: 'pointer' }}>
        {plural(comments.length, 'comment')} on lines will go with it
      </Text>
      {comments.map((comment) => (
        <Group key={comment.id} gap="xs" wrap="nowrap" justify="space-between">
          <Text size="xs" truncate>
            <span className="mono">
              {comment.path}:{comment.line}
            </span>{' '}
            {comment.text}
          </Text>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={`Remove the comment on ${comment.path}:${comment.line}`}
            onClick={() => remove(comment)}
          >
            <Icon name="cross" size={12} />
          </ActionIcon>
        </Group>
      ))}
    </details>
  );
}
