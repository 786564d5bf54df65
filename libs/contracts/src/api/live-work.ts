import { z } from 'zod';
import {
  ANSWER_CHARACTERS_MAX,
  PERMISSION_RULES_MAX,
  PERMISSION_PATTERN_CHARACTERS_MAX,
} from '../limits.ts';
import { formSchema, queryNumber, timeSchema } from './names.ts';
import { pageOf, pageQueryFields } from './paging.ts';

export const cardIdSchema = formSchema(/^card-[0-9a-f]{8}$/, 'use a card id (card-...)');

const answerTextSchema = z.string().min(1, 'say something').max(ANSWER_CHARACTERS_MAX);

/**
 * The answer to a card. `text` is a choice or free text for a card with one question, `answers` are
 * by question id; `deny` refuses a decision, or leaves a question without an answer.
 */
export const answerCardSchema = z
  .strictObject({
    verdict: z.enum(['allow', 'deny']).default('allow'),
    text: answerTextSchema.optional(),
    answers: z.record(z.string(), answerTextSchema).optional(),
    /** What the agent is told with a deny. */
    reason: z.string().max(ANSWER_CHARACTERS_MAX).default(''),
  })
  .refine((body) => body.text === undefined || body.answers === undefined, {
    message: 'give `text` or `answers`, not both',
  })
  .meta({ id: 'AnswerCard' });
export type AnswerCardBody = z.infer<typeof answerCardSchema>;
export type AnswerCardInput = z.input<typeof answerCardSchema>;

const patternSchema = z.string().min(1).max(PERMISSION_PATTERN_CHARACTERS_MAX);

/** `*` stands for any run of characters; the first rule that matches wins [A3]. */
export const permissionRuleSchema = z
  .strictObject({
    tool: patternSchema,
    pattern: patternSchema.default('*'),
    verdict: z.enum(['allow', 'deny', 'ask']),
  })
  .meta({ id: 'PermissionRule' });

export const permissionsSchema = z
  .strictObject({
    /** For what no rule matches: `all` allows it, `ask` asks a person. */
    mode: z.enum(['all', 'ask']).default('all'),
    rules: z.array(permissionRuleSchema).max(PERMISSION_RULES_MAX).default([]),
  })
  .meta({ id: 'Permissions' });
export type PermissionsDocument = z.infer<typeof permissionsSchema>;
export type PermissionsInput = z.input<typeof permissionsSchema>;

/** What was allowed or denied to a tool call, and by what [A3]. */
export const decisionSchema = z
  .object({
    cursor: z.string(),
    turn: z.int(),
    call_id: z.string(),
    tool: z.string(),
    /** JSON, redacted and cut to a bound. */
    input: z.string(),
    verdict: z.string(),
    reason: z.string(),
    /** mode, rule N (from 1), person or harness. */
    decided_by: z.string(),
    decided_at: timeSchema,
  })
  .meta({ id: 'Decision' });
export type DecisionDocument = z.infer<typeof decisionSchema>;
export const decisionPageSchema = pageOf(decisionSchema);

const TURN_NUMBER_MAX = 999_999_999;

export const decisionsQuerySchema = z.strictObject({
  ...pageQueryFields,
  turn: queryNumber(1, TURN_NUMBER_MAX).optional(),
});
export type DecisionsQuery = z.output<typeof decisionsQuerySchema>;

/**
 * Something the agent did, the same shape for every harness. Which fields there are follows from
 * `type`: message {text}, delivered {message_id}, tool_started {call_id, tool, input},
 * tool_finished {call_id, output, is_error, exit_code?}, file_changed {path, change}, retrying
 * {attempt, reason, delay_ms?}, notice {text}, asked {ask_id, kind, text}, ended {outcome, usage}.
 */
export const activityItemSchema = z
  .object({
    /** Where it is in the session's activity; what `after` and Last-Event-ID take. */
    cursor: z.string(),
    turn: z.int(),
    at: timeSchema,
    type: z.string(),
    text: z.string().optional(),
    message_id: z.string().optional(),
    call_id: z.string().optional(),
    tool: z.string().optional(),
    input: z.string().optional(),
    output: z.string().optional(),
    is_error: z.boolean().optional(),
    exit_code: z.int().optional(),
    path: z.string().optional(),
    change: z.string().optional(),
    attempt: z.int().optional(),
    reason: z.string().optional(),
    delay_ms: z.number().optional(),
    ask_id: z.string().optional(),
    kind: z.string().optional(),
    outcome: z.string().optional(),
    usage: z
      .object({
        input_tokens: z.number(),
        output_tokens: z.number(),
        cached_tokens: z.number(),
        cost_usd: z.number().optional(),
      })
      .optional(),
  })
  .meta({ id: 'ActivityItem' });
export type ActivityItem = z.infer<typeof activityItemSchema>;
export const activityPageSchema = pageOf(activityItemSchema);

export const activityCursorSchema = formSchema(
  /^(0|\d{1,9}\.[01]\.\d{1,9})$/,
  'use the cursor of an item, or 0 for the beginning',
);
export const activityQuerySchema = z.strictObject({
  limit: pageQueryFields.limit,
  /** Items after this one; `N.0.0` is before turn N; from the beginning when left out. */
  after: activityCursorSchema.optional(),
});
export type ActivityQuery = z.output<typeof activityQuerySchema>;

/** Text that the agent is writing: told live, kept by nobody; the whole message follows. */
export const activityDeltaSchema = z.object({ turn: z.int(), delta: z.string() });
export type ActivityDelta = z.infer<typeof activityDeltaSchema>;

/** What a harness can; `false` is told by hangar, not found out in a turn [H1]. */
export const harnessSchema = z
  .object({
    name: z.string(),
    version: z.string().nullable(),
    /** The adapter was tried against the CLI itself; false: only against what is said of it. */
    verified: z.boolean(),
    capabilities: z.record(z.string(), z.boolean()),
  })
  .meta({ id: 'Harness' });
export type HarnessDocument = z.infer<typeof harnessSchema>;
export const harnessListSchema = z.object({ items: z.array(harnessSchema) });
