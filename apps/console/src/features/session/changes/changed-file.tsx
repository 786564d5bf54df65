import { lazy, Suspense, useState } from 'react';
import { ActionIcon, Text, Tooltip } from '@mantine/core';
import type { Changes } from '@hangar/contracts';
import { Icon } from '../../../components/icons.tsx';
import { Loading } from '../../../components/page-states.tsx';
import { useMay } from '../../../lib/client.tsx';
import { countLines } from '../../../lib/diff-lines.ts';
import { useDraft } from '../../../lib/drafts.ts';
import { useOpenedSession } from '../session-context.tsx';
import { LineDialog } from './line-dialog.tsx';
import styles from './changes.module.css';

// The diff view and its grammars are most of the console: they come when a diff is looked at.
const FileDiff = lazy(() => import('./file-diff.tsx').then((m) => ({ default: m.FileDiff })));

export interface ChangedFileProps {
  file: Changes['files'][number];
  diffStyle: 'unified' | 'split';
  isOpenAtFirst: boolean;
}

export function ChangedFile({ file, diffStyle, isOpenAtFirst }: ChangedFileProps) {
  const { id } = useOpenedSession();
  const mayWrite = useMay('write');
  const { draft } = useDraft(id);
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [isCommenting, setCommenting] = useState(false);
  const comments = draft.comments.filter(({ path }) => path === file.path).length;
  const { added, removed } = countLines(file.diff);
  return (
    <div className={styles.file}>
      <div className={styles.head}>
        <button
          type="button"
          className={styles.open}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'next'} size={12} />
          <span className={`mono ${styles.path}`}>{file.path}</span>
          <Text span size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {file.status}
            {file.diff !== null && ` · +${added} −${removed}`}
            {comments > 0 && ` · ${comments} of your comments`}
          </Text>
        </button>
        {mayWrite && file.diff !== null && (
          <Tooltip label="Comment on a line">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Comment on a line of ${file.path}`}
              onClick={() => setCommenting(true)}
            >
              <Icon name="comment" size={14} />
            </ActionIcon>
          </Tooltip>
        )}
      </div>
      {isOpen && <Content file={file} diffStyle={diffStyle} />}
      {isCommenting && (
        <LineDialog
          file={file}
          onClose={(isDone) => {
            setCommenting(false);
            if (isDone) setOpen(true);
          }}
        />
      )}
    </div>
  );
}

function Content({ file, diffStyle }: Pick<ChangedFileProps, 'file' | 'diffStyle'>) {
  if (file.diff === null)
    return (
      <Text size="xs" c="dimmed" p="xs">
        {file.binary ? 'A binary file: its bytes are not shown.' : 'Too large to be shown here.'}
      </Text>
    );
  return (
    <Suspense fallback={<Loading what="the diff" rows={3} />}>
      <FileDiff path={file.path} diff={file.diff} diffStyle={diffStyle} />
    </Suspense>
  );
}
