import { createSessionSchema, type SessionOutcome } from '@hangar/contracts';
import { z } from 'zod';
import { bodyOf, keyField, waitField } from '../fields.ts';
import { answered } from '../session.answer.ts';
import { creationAt, defineTool } from '../tool.ts';

const { shape } = createSessionSchema;

export const newSession = defineTool({
  name: 'new_session',
  title: 'New session',
  description:
    'Starts a session: a coding agent of its own, in a sandbox with a clone of a git repository. ' +
    'The session keeps its conversation and its files for days, also without a sandbox. With ' +
    '`message` the agent begins to work on it at once; without, the session starts and waits. ' +
    'Call `limits` first to learn which environments and harnesses there are.\n' +
    "Comes back when the turn has ended (with the agent's answer), when the agent asks something " +
    '(with the card to answer), or after `wait_seconds` with `pending: true`: the work goes on, ' +
    'and get_session waits for it. `next` says which tool to call.',
  scope: 'write',
  input: z.strictObject({
    name: shape.name.describe(
      'Yours to choose: 1 to 63 lower-case letters, digits and hyphens; unique among your sessions',
    ),
    environment: shape.environment.describe('An environment that `limits` lists'),
    harness: shape.harness.describe('The agent that works: a harness that `limits` lists'),
    message: shape.message.describe('The task, in full: the agent knows nothing of your talk'),
    model: shape.model.describe('A model of the harness; its own choice when left out'),
    repo: shape.repo.describe("URL or absolute path of a git repository; else the environment's"),
    base_branch: shape.base_branch.describe('The branch to begin from'),
    branch: shape.branch.describe('The branch to work on; hangar/session/<name> when left out'),
    title: shape.title.describe('For people'),
    idle_minutes: shape.idle_minutes.describe('Suspends after this long without work; 0: never'),
    permissions: shape.permissions.describe(
      'Which tool calls of the agent need leave. mode "all" (the default) allows them, "ask" asks ' +
        'you by a decision card; of `rules`, the first that matches tool and pattern wins',
    ),
    idempotency_key: keyField,
    wait_seconds: waitField,
  }),
  async run(input, { sessions, caller, hold }) {
    const body = bodyOf(input, ['idempotency_key', 'wait_seconds']);
    const creation = creationAt('/api/sessions', body, input.idempotency_key);
    const created = createSessionSchema.parse(body);
    const answer = await sessions.create(caller, creation, created, hold(input.wait_seconds));
    return answered(answer.body as SessionOutcome);
  },
});
