import { z } from 'zod';
import { timeSchema } from './names.ts';
import { permissionsSchema } from './live-work.ts';
import { pageOf } from './paging.ts';

export const SESSION_STATES = [
  'STARTING',
  'RESUMING',
  'IDLE',
  'ACTIVE',
  'SUSPENDING',
  'SUSPENDED',
  'INTERRUPTED',
  'ARCHIVED',
  'FAILED',
] as const;
export const sessionStateSchema = z.enum(SESSION_STATES);
export type SessionStateName = z.infer<typeof sessionStateSchema>;

export const MESSAGE_MODES = ['auto', 'steer', 'queue', 'interrupt'] as const;

export const omissionSchema = z.object({
  path: z.string().optional(),
  reason: z.string(),
  bytes: z.number().optional(),
});

const continuityPartSchema = z.object({
  /** kept, partly or lost [R2]. */
  state: z.string(),
  detail: z.string().optional(),
});

export const continuitySchema = z
  .object({
    conversation: continuityPartSchema,
    commits: continuityPartSchema,
    staged: continuityPartSchema,
    unstaged: continuityPartSchema,
    untracked: continuityPartSchema,
    ignored: continuityPartSchema,
    processes: continuityPartSchema,
    losses: z.array(omissionSchema),
  })
  .meta({ id: 'Continuity' });

const usageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  /** US dollars; left out when the harness does not say. */
  cost_usd: z.number().optional(),
});

export const turnSchema = z
  .object({
    number: z.int(),
    run_id: z.string(),
    message_id: z.string(),
    message: z.string(),
    requested_at: timeSchema,
    started_at: timeSchema.nullable(),
    finished_at: timeSchema.nullable(),
    /** succeeded, failed, cancelled, interrupted, timed_out or deferred [M7] [A2]; null while it runs. */
    outcome: z.string().nullable(),
    exit_code: z.int().nullable(),
    summary: z.string(),
    usage: usageSchema.nullable(),
    error: z.string().nullable(),
    conversation: z.string().nullable(),
    /** Messages that reached the agent while it worked on this turn [M3]. */
    steered: z.array(z.object({ message_id: z.string(), text: z.string() })),
    /** The checkpoint that holds the work of this turn. */
    checkpoint_id: z.string().nullable(),
  })
  .meta({ id: 'Turn' });
export type TurnDocument = z.infer<typeof turnSchema>;

export const checkpointSchema = z
  .object({
    id: z.string(),
    /** turn, talk, suspend, destroy, manual or interval. */
    reason: z.string(),
    turn: z.int(),
    taken_at: timeSchema,
    complete: z.boolean(),
    head: z.string().nullable(),
    base: z.string().nullable(),
    /** All parts before sealing. */
    bytes: z.number(),
    parts: z.array(z.object({ name: z.string(), size: z.number(), sha256: z.string() })),
    skipped: z.array(omissionSchema),
    warnings: z.array(omissionSchema),
  })
  .meta({ id: 'Checkpoint' });
export type CheckpointDocument = z.infer<typeof checkpointSchema>;

const askedQuestionSchema = z.object({
  id: z.string(),
  text: z.string(),
  /** Empty: free text, which is an answer beside the choices, too. */
  choices: z.array(z.object({ label: z.string(), description: z.string() })),
  /** Several may be taken, then separated by `, `. */
  is_multiple: z.boolean(),
});

export const cardSchema = z
  .object({
    id: z.string(),
    /** question, decision, interrupted, lost_state, delivery_failed or limit [A1]. */
    kind: z.string(),
    text: z.string(),
    choices: z.array(z.string()),
    since: timeSchema,
    /** Of questions and decisions: what is asked, and in which turn; null for others. */
    turn: z.int().nullable(),
    questions: z.array(askedQuestionSchema),
    /** The tool call that wants leave, with its input as JSON. */
    tool: z.object({ name: z.string(), input: z.string() }).nullable(),
  })
  .meta({ id: 'Card' });
export type CardDocument = z.infer<typeof cardSchema>;

/** A card and whose it is: what waits on a person in any of the sessions. */
export const sessionCardSchema = z
  .object({
    card: cardSchema,
    session: z.object({
      id: z.string(),
      name: z.string(),
      title: z.string(),
      state: sessionStateSchema,
    }),
  })
  .meta({ id: 'SessionCard' });
export type SessionCard = z.infer<typeof sessionCardSchema>;
export const sessionCardPageSchema = pageOf(sessionCardSchema);

export const queuedMessageSchema = z
  .object({
    message_id: z.string(),
    text: z.string(),
    mode: z.string(),
    queued_at: timeSchema,
    /** It was offered to the turn that runs, and is delivered or returned by it [M3]. */
    is_steering: z.boolean(),
  })
  .meta({ id: 'QueuedMessage' });
export type QueuedMessageDocument = z.infer<typeof queuedMessageSchema>;

export const sessionLimitsSchema = z.object({
  idle_minutes: z.int(),
  turn_minutes: z.int(),
  session_keep_checkpoints: z.int(),
  messages_queued: z.int(),
  message_bytes: z.int(),
});

const summaryFields = {
  id: z.string(),
  name: z.string(),
  title: z.string(),
  owner: z.string(),
  environment: z.string(),
  harness: z.string(),
  model: z.string().nullable(),
  repo: z.string().nullable(),
  base_branch: z.string().nullable(),
  branch: z.string(),
  cwd: z.string(),
  harness_session: z.string().nullable(),
  sandbox_id: z.string().nullable(),
  state: sessionStateSchema,
  /** For people: why it is in this state [S2]. */
  state_reason: z.string(),
  /** Where the time goes while a sandbox starts [S4]; null when none starts. */
  start_phase: z.string().nullable(),
  /** native, handoff or none. */
  conversation: z.string(),
  idle_minutes: z.int(),
  forked_from: z.string().nullable(),
  /** Somebody talks with the agent itself in this terminal: messages wait, and no turn begins. */
  talk: z.object({ terminal_id: z.string(), since: timeSchema }).nullable(),
  created_at: timeSchema,
  last_active_at: timeSchema,
  updated_at: timeSchema,
  /** Of the session's stream in the log. */
  version: z.int(),
};

/** The document of a list: without what grows with the session. */
export const sessionSummarySchema = z
  .object({
    ...summaryFields,
    turn_count: z.int(),
    /** Summary of the newest finished turn; empty before. */
    last_summary: z.string(),
    attention_count: z.int(),
    queue_count: z.int(),
  })
  .meta({ id: 'SessionSummary' });
export type SessionSummary = z.infer<typeof sessionSummarySchema>;
export const sessionPageSchema = pageOf(sessionSummarySchema);

/** A session, whole [S1]. Turns and checkpoints: newest last. */
export const sessionDocumentSchema = z
  .object({
    ...summaryFields,
    turns: z.array(turnSchema),
    checkpoints: z.array(checkpointSchema),
    continuity: continuitySchema.nullable(),
    attention: z.array(cardSchema),
    queue: z.array(queuedMessageSchema),
    limits: sessionLimitsSchema,
    permissions: permissionsSchema,
  })
  .meta({ id: 'Session' });
export type SessionDocument = z.infer<typeof sessionDocumentSchema>;

/** `waited`: false when the time ran out before the outcome; left out when nobody waited. */
export const sessionOutcomeSchema = sessionDocumentSchema
  .extend({ waited: z.boolean().optional(), message_id: z.string().optional() })
  .meta({ id: 'SessionOutcome' });
export type SessionOutcome = z.infer<typeof sessionOutcomeSchema>;
