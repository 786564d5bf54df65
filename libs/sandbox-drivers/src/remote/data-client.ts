import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { sandboxData } from '@hangar/contracts';
import type { SandboxRef } from '../sandbox-driver.ts';
import { toHangarError } from './wire-values.ts';

/** An answer that is not a stream comes within this; the driver's own deadline is shorter. */
const UNARY_MS = 90_000;
export type DataClient = Client<typeof sandboxData.SandboxDataService>;

export type ToTarget = (
  ref: SandboxRef,
  quiet?: boolean,
) => MessageInitShape<typeof sandboxData.TargetSchema>;

/** One call with one answer; what is thrown is a HangarError. */
export const call = async <T>(answer: Promise<T>): Promise<T> => {
  try {
    return await answer;
  } catch (error) {
    throw toHangarError(error);
  }
};

export const UNARY = { timeoutMs: UNARY_MS };
