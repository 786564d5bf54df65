import type { OpenTerminalInput, TerminalDocument } from '@hangar/contracts';
import type { Transport, TransportSettings } from '../http/transport.ts';
import {
  attachTerminal,
  type AttachedTerminal,
  type AttachOptions,
} from '../live/attach-terminal.ts';
import {
  newIdempotencyKey,
  segment,
  sessionPath,
  type CallOptions,
  type CreateOptions,
} from './call-options.ts';

export interface TerminalCalls {
  /** Of the session's sandbox, oldest first; none without a sandbox. */
  list(ref: string, options?: CallOptions): Promise<{ items: TerminalDocument[] }>;
  /** `conflict` without a live sandbox: nothing is resumed. */
  open(ref: string, body: OpenTerminalInput, options?: CreateOptions): Promise<TerminalDocument>;
  /** Ends it with all that runs in it; quiet when it is not there. */
  close(ref: string, terminalId: string, options?: CallOptions): Promise<void>;
  /** Comes back by itself until the terminal has ended, without a byte lost or shown twice. */
  attach(ref: string, terminalId: string, options: AttachOptions): AttachedTerminal;
}

export function createTerminalCalls(
  transport: Transport,
  settings: TransportSettings,
): TerminalCalls {
  return {
    list: (ref, options = {}) =>
      transport.json({
        method: 'GET',
        path: sessionPath(ref, '/terminals'),
        signal: options.signal,
      }),
    open: (ref, body, options = {}) =>
      transport.json({
        method: 'POST',
        path: sessionPath(ref, '/terminals'),
        body,
        idempotencyKey: options.idempotencyKey ?? newIdempotencyKey(),
        signal: options.signal,
      }),
    async close(ref, terminalId, options = {}) {
      await transport.send({
        method: 'DELETE',
        path: sessionPath(ref, `/terminals/${segment(terminalId)}`),
        signal: options.signal,
      });
    },
    attach: (ref, terminalId, options) =>
      attachTerminal(
        {
          url: `${settings.url.replace(/\/+$/, '')}${sessionPath(ref, `/terminals/${segment(terminalId)}/attach`)}`,
          token: settings.token,
          ...(settings.retryMs === undefined
            ? {}
            : { pause: { firstMs: settings.retryMs, maxMs: 4 * settings.retryMs } }),
        },
        options,
      ),
  };
}
