import { z } from 'zod';
import { TERMINAL_SIZE_MAX } from '../limits.ts';
import { formSchema, queryNumber, timeSchema } from './names.ts';
import { problemSchema } from './paging.ts';

/** Subprotocol of the WebSocket; the next frames that are not compatible have another name. */
export const TERMINAL_PROTOCOL = 'hangar.terminal.v1';
/** Subprotocol that carries the token where no header can be set: percent-encoded behind this. */
export const TERMINAL_TOKEN_PREFIX = 'hangar.token.';

const sizeSchema = z.int().min(1).max(TERMINAL_SIZE_MAX);
const COLS_DEFAULT = 80;
const ROWS_DEFAULT = 24;

/** `trm-` and 8 hex digits; that of an agent also has the number of its talk in the session. */
export const terminalIdSchema = formSchema(
  /^trm-[0-9a-f]{8}(-[1-9][0-9]{0,8})?$/,
  'this is not the id of a terminal',
);

export const openTerminalSchema = z
  .strictObject({
    /** `agent`: the harness's own interface, in the session's conversation, between its turns. */
    kind: z.enum(['shell', 'agent']).default('shell'),
    cols: sizeSchema.default(COLS_DEFAULT),
    rows: sizeSchema.default(ROWS_DEFAULT),
  })
  .meta({ id: 'OpenTerminal' });
export type OpenTerminal = z.output<typeof openTerminalSchema>;
export type OpenTerminalInput = z.input<typeof openTerminalSchema>;

export const terminalSchema = z
  .object({
    id: z.string(),
    kind: z.enum(['shell', 'agent']),
    /** `starting` is an agent that is being started; `ended` keeps what it printed for a while. */
    state: z.enum(['starting', 'running', 'ended']),
    /** Of one that ended by itself; null also when a signal ended it. */
    exit_code: z.int().nullable(),
    created_at: timeSchema,
    cols: z.int(),
    rows: z.int(),
    viewers: z.int(),
    /** Bytes so far: the offset of the next one. */
    printed: z.int(),
  })
  .meta({ id: 'Terminal' });
export type TerminalDocument = z.infer<typeof terminalSchema>;

/** Oldest first. */
export const terminalListSchema = z.object({ items: z.array(terminalSchema) });

/** `from`: the offset of the first byte that is wanted; the beginning when left out. */
export const attachTerminalQuerySchema = z.strictObject({
  from: formSchema(/^\d{1,15}$/, 'use a whole number of bytes')
    .transform(Number)
    .optional(),
  cols: queryNumber(1, TERMINAL_SIZE_MAX).optional(),
  rows: queryNumber(1, TERMINAL_SIZE_MAX).optional(),
});
export type AttachTerminalQuery = z.infer<typeof attachTerminalQuerySchema>;

/** Text frames of the server; binary ones are the terminal's bytes (docs/formats/terminals.md). */
export const terminalFrameSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('attached'),
    /** Of the first byte that follows; `lost`: what is before it and was asked for is not kept. */
    offset: z.int(),
    lost: z.boolean(),
    cols: z.int(),
    rows: z.int(),
  }),
  z.object({ type: z.literal('resized'), cols: z.int(), rows: z.int() }),
  z.object({
    type: z.literal('exit'),
    exit_code: z.int().nullable(),
    /** In words, when there is no exit code. */
    reason: z.string().nullable(),
  }),
  z.object({ type: z.literal('error'), problem: problemSchema }),
  /** Nothing new, and the line works. */
  z.object({ type: z.literal('here') }),
]);
export type TerminalFrame = z.infer<typeof terminalFrameSchema>;

/** Text frames of a client; binary ones are what is typed. */
export const terminalRequestSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('resize'), cols: sizeSchema, rows: sizeSchema }),
  /** Everything before this offset was taken. */
  z.object({ type: z.literal('ack'), offset: z.int().min(0) }),
]);
export type TerminalRequest = z.infer<typeof terminalRequestSchema>;
