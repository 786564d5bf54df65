import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import type { TerminalEnd, TerminalState } from '@hangar/client';
import type { TerminalDocument } from '@hangar/contracts';
import { useClient } from '../../../lib/client.tsx';
import { keys } from '../../../lib/queries.ts';
import { attachScreen } from './attach-screen.ts';
import styles from './terminals.module.css';

interface TerminalViewProps {
  sessionId: string;
  terminal: Pick<TerminalDocument, 'id' | 'kind'>;
  isReadOnly: boolean;
}

/** Lines kept for looking back; the server keeps more for who comes anew. */
const SCROLLBACK_LINES = 5_000;

const STATES: Record<TerminalState, string> = {
  connecting: 'Connecting',
  attached: 'Attached',
  reconnecting: 'The line was lost: connecting again',
  ended: 'Ended',
};

export function TerminalView({ sessionId, terminal, isReadOnly }: TerminalViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const client = useClient();
  const queries = useQueryClient();
  const [status, setStatus] = useState(STATES.connecting);
  const { id } = terminal;
  useEffect(() => {
    if (!box.current) return;
    const screen = new Terminal({
      fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
      fontSize: 13,
      scrollback: SCROLLBACK_LINES,
      cursorBlink: true,
      disableStdin: isReadOnly,
      theme: { background: '#101318' },
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current);
    fit.fit();
    screen.attachCustomKeyEventHandler((event) => {
      // Tab belongs to the shell, so there has to be another way out of it.
      if (event.key !== 'Escape' || !event.shiftKey) return true;
      screen.blur();
      return false;
    });
    const detach = attachScreen(client.terminals, {
      sessionId,
      terminalId: id,
      screen,
      onState: (state) => setStatus(STATES[state]),
      onEnd: (end) => {
        setStatus(endText(end));
        void queries.invalidateQueries({ queryKey: keys.terminals(sessionId) });
      },
    });
    const resized = new ResizeObserver(() => fit.fit());
    resized.observe(box.current);
    screen.focus();
    return () => {
      resized.disconnect();
      detach();
      screen.dispose();
    };
  }, [client, queries, sessionId, id, isReadOnly]);
  return (
    <>
      <div className={styles.terminal}>
        <div ref={box} className={styles.screen} />
      </div>
      <div className={styles.status} role="status">
        {status} · Shift+Escape leaves the terminal
      </div>
    </>
  );
}

function endText(end: TerminalEnd): string {
  if (end.kind === 'refused') return end.error.message;
  if (end.kind === 'detached') return STATES.ended;
  return end.exitCode === null
    ? `Ended: ${end.reason ?? 'by a signal'}`
    : `Ended with ${end.exitCode}`;
}
