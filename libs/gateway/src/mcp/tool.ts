import type { Scope } from '@hangar/contracts';
import type { z } from 'zod';
import type { ActivityService } from '../activity/activity.service.ts';
import type { Caller } from '../auth/caller.ts';
import type { SandboxCallsService } from '../checkpoints/sandbox-calls.service.ts';
import type { EnvironmentsService } from '../environments/environments.service.ts';
import { creationOf, type Creation } from '../idempotency/idempotency.ts';
import type { LimitsService } from '../limits/limits.service.ts';
import type { Hold, SessionsService } from '../sessions/sessions.service.ts';

/** The services behind the REST controllers: a tool asks the same ones [U6]. */
export interface ToolServices {
  sessions: SessionsService;
  activity: ActivityService;
  sandboxCalls: SandboxCallsService;
  environments: EnvironmentsService;
  limits: LimitsService;
}

/** One call of a tool, beside its input. */
export interface ToolCall extends ToolServices {
  caller: Caller;
  /** Holds the answer back for the outcome, and tells the client what happens meanwhile. */
  hold(seconds: number): Hold;
}

/** The same twice: an agent may be shown either of them. Both are bounded. */
export interface ToolAnswer {
  text: string;
  structured: object;
}

/** A tool as agents see it; `description` says what it does, what comes back and what to do next. */
export interface ToolDefinition<Input extends z.ZodObject = z.ZodObject> {
  name: string;
  title: string;
  description: string;
  scope: Scope;
  input: Input;
  /** It ends or drops something that does not come back. */
  destroys?: true;
  run(input: z.output<Input>, call: ToolCall): Promise<ToolAnswer>;
}

/** Keeps the type of the input, so that `run` sees it. */
export const defineTool = <Input extends z.ZodObject>(
  tool: ToolDefinition<Input>,
): ToolDefinition => tool as unknown as ToolDefinition;

/** What REST would make of the same call: one key does it once, from whichever surface [M2]. */
export const creationAt = (path: string, body: object, key: string | undefined): Creation =>
  creationOf({
    method: 'POST',
    path,
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body,
  });
