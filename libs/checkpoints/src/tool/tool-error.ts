import type { ToolErrorCode } from './contract.ts';

/**
 * The typed failure of a sub-command. The tool runs without the control plane's libraries, so it has
 * its own class; the control plane maps `code` to a HangarError.
 */
export class ToolError extends Error {
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ToolError';
    this.code = code;
  }
}
