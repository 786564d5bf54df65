import type { Terminal } from '@xterm/xterm';
import type { TerminalCalls, TerminalEnd, TerminalState } from '@hangar/client';

interface Screen {
  sessionId: string;
  terminalId: string;
  screen: Terminal;
  onState(state: TerminalState): void;
  onEnd(end: TerminalEnd): void;
}

/** Joins a screen and a terminal of the sandbox, over as many connections as it takes; returns how to leave it. */
export function attachScreen(terminals: TerminalCalls, given: Screen): () => void {
  const { sessionId, terminalId, screen, onState, onEnd } = given;
  const encoder = new TextEncoder();
  const attached = terminals.attach(sessionId, terminalId, {
    cols: screen.cols,
    rows: screen.rows,
    // Taken when it is shown: the server waits meanwhile.
    onOutput: (bytes) =>
      new Promise((shown) => {
        screen.write(bytes, shown);
      }),
    onState,
    onSize: ({ cols, rows }) => {
      if (cols !== screen.cols || rows !== screen.rows) screen.resize(cols, rows);
    },
    onLost: (bytes) => screen.write(`\r\n[${bytes} bytes are not kept any more]\r\n`),
  });
  const typed = screen.onData((text) => attached.write(encoder.encode(text)));
  const binary = screen.onBinary((text) =>
    attached.write(Uint8Array.from(text, (character) => character.charCodeAt(0))),
  );
  const resized = screen.onResize(({ cols, rows }) => attached.resize(cols, rows));
  void attached.ended.then((end) => end.kind !== 'detached' && onEnd(end));
  return () => {
    for (const each of [typed, binary, resized]) each.dispose();
    attached.detach();
  };
}
