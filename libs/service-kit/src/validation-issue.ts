/** One wrong field of a body: where (`limits.minutes`, empty for the whole body) and what is allowed. */
export interface FieldIssue {
  field: string;
  message: string;
}

interface Issue {
  code?: unknown;
  path?: unknown;
  message?: unknown;
  expected?: unknown;
  values?: unknown;
  keys?: unknown;
  format?: unknown;
  pattern?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  origin?: unknown;
}

/** The issues of a zod error, told by shape: it may come from another copy of zod. */
export function issuesOf(error: unknown): readonly unknown[] | null {
  if (typeof error !== 'object' || error === null || !('issues' in error)) return null;
  return Array.isArray(error.issues) && error.issues.length > 0 ? error.issues : null;
}

/** Says what is allowed, and never repeats the value: it may be a secret in the wrong field. */
export function describeIssue(issue: unknown): FieldIssue {
  const known: Issue = typeof issue === 'object' && issue !== null ? issue : {};
  return { field: pathOf(known.path), message: sentenceOf(known) };
}

function sentenceOf(issue: Issue): string {
  const message = typeof issue.message === 'string' ? issue.message : 'is not valid';
  switch (issue.code) {
    case 'invalid_type':
      if (message.endsWith('received undefined')) return `is required (${String(issue.expected)})`;
      return `must be of type ${String(issue.expected)}`;
    case 'invalid_value':
      return `must be one of ${listOf(issue.values)}`;
    case 'unrecognized_keys':
      return `has fields that are not known here: ${listOf(issue.keys)}`;
    case 'too_small':
      return `must be at least ${String(issue.minimum)}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be at most ${String(issue.maximum)}${unitOf(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'regex'
        ? `must match ${String(issue.pattern)}`
        : `must be a valid ${String(issue.format)}`;
    default:
      return message.replace(/\.$/, '');
  }
}

function unitOf(origin: unknown): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' || origin === 'set' ? ' items long' : '';
}

/** A long list would hide the rest of the message. */
const LISTED_MAX = 30;

function listOf(values: unknown): string {
  if (!Array.isArray(values)) return 'the documented values';
  const shown = values.slice(0, LISTED_MAX).map((value) => String(value).slice(0, 80));
  return shown.join(', ') + (values.length > LISTED_MAX ? ', ...' : '');
}

/** Standard Schema allows `{ key }` as a segment of a path. */
function pathOf(path: unknown): string {
  if (!Array.isArray(path)) return '';
  const names = path.map((part: unknown) =>
    String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part),
  );
  return names.join('.').slice(0, 200);
}
