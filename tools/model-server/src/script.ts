/**
 * The script of a model's replies, written inside a prompt or queued over the control endpoint:
 *
 *   [[ say: hello ;; run: echo hi ;; write: notes.txt=first line ;; error: 529x2 ;; say: done ]]
 *
 * `;;` separates steps; one step is one reply of the model. ` ++ ` joins several actions in one
 * reply. The step that is due is the number of replies after the newest message that holds a
 * script (an error that passes is no reply), so a script survives retries, resumes and forks
 * without any memory in the server.
 *
 * `ask: Which? | A | B` calls the tool by which the harness lets a model ask a person;
 * `call: Name {json}` calls any other. Several calls in one reply (` ++ `) are parallel ones.
 */

export type Action =
  | { type: 'say'; text: string }
  | { type: 'think'; text: string }
  | { type: 'run'; command: string }
  | { type: 'write'; path: string; content: string }
  | { type: 'ask'; question: string; choices: string[] }
  | { type: 'call'; tool: string; input: Record<string, unknown> }
  /** Milliseconds before the next action. */
  | { type: 'wait'; milliseconds: number }
  /** An HTTP error, on the first `times` attempts only (null: on all), with optional reset time. */
  | { type: 'error'; status: number; times: number | null; resetsAtSeconds: number | null }
  /** The text is sent, then the connection is destroyed. */
  | { type: 'cut'; text: string }
  /** Headers and nothing else, until the client leaves. */
  | { type: 'hang' }
  /** The default sentence: what the server was sent. */
  | { type: 'echo' };

export type Step = Action[];

/** Longest wait a script may ask for. */
export const WAIT_MILLISECONDS_MAX = 600_000;
/** Most steps of one script. */
export const STEPS_MAX = 200;

const SCRIPT = /\[\[([\s\S]*?)\]\]/g;

/** The text of the last script in a message, or null. */
export function findScript(message: string): string | null {
  return [...message.matchAll(SCRIPT)].at(-1)?.[1] ?? null;
}

/** @throws Error with a readable message when an action is unknown or malformed. */
export function parseScript(script: string): Step[] {
  const steps = script.split(';;').map((step) => step.trim());
  if (steps.length > STEPS_MAX) throw new Error(`a script has at most ${STEPS_MAX} steps`);
  const parsed = steps.map((step) =>
    step.split(/\s\+\+\s/).map((each) => parseAction(each.trim())),
  );
  return parsed.reduceRight<Step[]>(withPassingErrors, []);
}

/** Errors that pass are no reply: once they have passed, the step after them answers. */
function withPassingErrors(later: Step[], step: Step): Step[] {
  const isPassing = step.every((action) => action.type === 'error' && action.times !== null);
  const [next, ...rest] = later;
  return isPassing && next ? [[...step, ...next], ...rest] : [step, ...later];
}

function parseAction(source: string): Action {
  const colon = source.indexOf(':');
  const verb = (colon < 0 ? source : source.slice(0, colon)).trim();
  const rest = colon < 0 ? '' : source.slice(colon + 1).trim();
  switch (verb) {
    case 'say':
      return { type: 'say', text: rest };
    case 'think':
      return { type: 'think', text: rest };
    case 'run':
      return { type: 'run', command: rest };
    case 'write':
      return parseWrite(rest);
    case 'ask': {
      const [question = '', ...choices] = rest.split('|').map((each) => each.trim());
      return { type: 'ask', question, choices };
    }
    case 'call':
      return parseCall(rest);
    case 'wait':
      return { type: 'wait', milliseconds: Math.min(Number(rest) || 0, WAIT_MILLISECONDS_MAX) };
    case 'error':
      return parseError(rest);
    case 'cut':
      return { type: 'cut', text: rest };
    case 'hang':
      return { type: 'hang' };
    case 'echo':
    case '':
      return { type: 'echo' };
    default:
      throw new Error(`unknown action "${verb}" in a model script`);
  }
}

function parseWrite(rest: string): Action {
  const equals = rest.indexOf('=');
  if (equals <= 0) throw new Error('write needs path=content');
  return { type: 'write', path: rest.slice(0, equals).trim(), content: rest.slice(equals + 1) };
}

function parseCall(rest: string): Action {
  const space = rest.indexOf(' ');
  const tool = space < 0 ? rest : rest.slice(0, space);
  const input: unknown = space < 0 ? {} : JSON.parse(rest.slice(space + 1));
  if (!tool || typeof input !== 'object' || input === null)
    throw new Error('call needs name {json}');
  return { type: 'call', tool, input: input as Record<string, unknown> };
}

/** `429`, `529x2` (the first two attempts), `429 resets=1790000000` (epoch seconds). */
function parseError(rest: string): Action {
  const found = /^(\d{3})(?:x(\d+))?(?:\s+resets=(\d+))?$/.exec(rest);
  if (!found) throw new Error(`error needs a status such as 429 or 529x2, not "${rest}"`);
  return {
    type: 'error',
    status: Number(found[1]),
    times: found[2] === undefined ? null : Number(found[2]),
    resetsAtSeconds: found[3] === undefined ? null : Number(found[3]),
  };
}
