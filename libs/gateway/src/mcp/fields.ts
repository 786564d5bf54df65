import { messageIdSchema, sessionRefSchema, WAIT_SECONDS_MAX } from '@hangar/contracts';
import { z } from 'zod';

/** Less than the 60 seconds after which many clients give a call up. */
export const HOLD_SECONDS_DEFAULT = 45;

export const sessionField = sessionRefSchema.describe('The session: its name, or its id (ses-...)');

export const waitField = z
  .int()
  .min(0)
  .max(WAIT_SECONDS_MAX)
  .default(HOLD_SECONDS_DEFAULT)
  .describe(
    'How many seconds to hold the answer back for the outcome; 0 answers at once. ' +
      'Many MCP clients give a call up after 60 seconds: ask for more only where yours waits longer.',
  );

export const keyField = z
  .string()
  .optional()
  .describe('Any new string. A call repeated with the same key is done once, not twice');

export const messageField = messageIdSchema.describe('The id of a message (msg-...)');

/** A call's input without what only the tool itself reads, as the body of the REST call. */
export function bodyOf<Input extends object, Key extends keyof Input>(
  input: Input,
  keys: readonly Key[],
): Omit<Input, Key> {
  const rest = Object.entries(input).filter(
    ([key, value]) => value !== undefined && !(keys as readonly string[]).includes(key),
  );
  return Object.fromEntries(rest) as Omit<Input, Key>;
}
