import { Code, Text } from '@mantine/core';
import { Icon } from '../../../components/icons.tsx';
import type { ToolEntry } from '../../../lib/turn-entries.ts';
import styles from './conversation.module.css';

/** A tool call on one line; its input and output under it. */
export const ToolRow = ({ entry }: { entry: ToolEntry }) => (
  <details className={styles.tool}>
    <summary>
      <Icon name="tool" size={13} />
      <span className={styles.toolName}>{entry.tool}</span>
      <span className={`mono ${styles.about}`}>{entry.about}</span>
      <ToolState entry={entry} />
    </summary>
    <Code block className={styles.output} tabIndex={0}>
      {indented(entry.input)}
    </Code>
    {entry.output !== null && (
      <Code block className={styles.output} tabIndex={0}>
        {entry.output === '' ? '(no output)' : entry.output}
      </Code>
    )}
  </details>
);

function ToolState({ entry }: { entry: ToolEntry }) {
  if (entry.state === 'running') return <span className={styles.toolState}>running</span>;
  if (entry.state === 'done')
    return (
      <span className={styles.toolState} role="img" aria-label="done">
        <Icon name="check" size={13} />
      </span>
    );
  return (
    <Text span size="xs" c="var(--hangar-bad)">
      failed{entry.exitCode === null ? '' : ` (${entry.exitCode})`}
    </Text>
  );
}

function indented(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input; // It was cut, or is no JSON: shown as it came.
  }
}

/** More than these are counted. */
const FILES_SHOWN = 6;

interface FilesProps {
  files: { path: string; change: string }[];
  /** Paths are shown from here on. */
  cwd: string;
}

export const FileRow = ({ files, cwd }: FilesProps) => (
  <Text size="xs" c="dimmed" className={styles.files} component="div">
    <Icon name="file" size={13} />
    {files.slice(0, FILES_SHOWN).map(({ path, change }) => (
      <span key={path}>
        {change} <span className="mono">{path.replace(`${cwd}/`, '')}</span>
      </span>
    ))}
    {files.length > FILES_SHOWN && <span>and {files.length - FILES_SHOWN} more</span>}
  </Text>
);
