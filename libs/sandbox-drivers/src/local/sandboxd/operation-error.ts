import { errorCode } from '../error-code.ts';
import type { WireError } from '../wire/protocol.ts';

/** Fails one operation; the driver turns it into a HangarError of the same code. */
export class OperationError extends Error {
  readonly code: WireError['code'];
  readonly hint: string | undefined;

  constructor(code: WireError['code'], message: string, hint?: string) {
    super(message);
    this.name = 'OperationError';
    this.code = code;
    this.hint = hint;
  }

  static toWire(error: unknown): WireError {
    if (error instanceof OperationError) {
      const hint = error.hint === undefined ? {} : { hint: error.hint };
      return { code: error.code, detail: error.message, ...hint };
    }
    if (['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) {
      const hint = 'End processes in the sandbox, or give it more.';
      return { code: 'exhausted', detail: `the sandbox is at its limits: ${String(error)}`, hint };
    }
    const detail = error instanceof Error ? error.message : String(error);
    return { code: 'internal', detail };
  }
}
