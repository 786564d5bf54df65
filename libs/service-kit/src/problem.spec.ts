import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { z } from 'zod';
import { invalidBody, toProblem, type Problem } from './problem.ts';

const request = { path: '/api/sessions?token=x', requestId: 'req-1' };
const problemOf = (error: unknown): Problem => toProblem(error, request);

const Body = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z-]+$/)
    .max(10),
  mode: z.enum(['auto', 'queue']),
  count: z.int().min(1).max(5).optional(),
  limits: z.object({ minutes: z.number() }).optional(),
  tags: z.array(z.string()).max(2).optional(),
  link: z.url().optional(),
});

function issuesFor(body: unknown): Problem {
  return problemOf(Body.safeParse(body).error);
}

describe('toProblem', () => {
  it('gives the message and hint of a HangarError, with the status of its code', () => {
    const error = new HangarError('conflict', 'ses-1 is archived.', { hint: 'Fork it.' });
    expect(problemOf(error)).toEqual({
      type: 'urn:hangar:problem:conflict',
      title: 'Conflict',
      status: 409,
      code: 'conflict',
      detail: 'ses-1 is archived.',
      hint: 'Fork it.',
      instance: '/api/sessions',
      request_id: 'req-1',
    });
  });

  it.each([
    new Error('password is hunter22'),
    new HangarError('internal', 'password is hunter22', { hint: 'hunter22' }),
    'hunter22',
    { message: 'hunter22', status: 500 },
    null,
    undefined,
  ])('says nothing of what is internal but where to look (%#)', (error) => {
    const problem = problemOf(error);
    expect(problem).toMatchObject({ status: 500, code: 'internal' });
    expect(problem.hint).toContain('req-1');
    expect(JSON.stringify(problem)).not.toMatch(/hunter22|at .*\.ts/);
  });

  it('hides tokens in what it does say', () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    const error = new HangarError('invalid', `Cannot clone with ${token}.`, { hint: token });
    expect(JSON.stringify(problemOf(error))).not.toContain(token);
  });

  it.each([
    [{ name: 'a' }, 'mode', 'must be one of auto, queue'],
    [{ mode: 'auto' }, 'name', 'is required (string)'],
    [{ name: 5, mode: 'auto' }, 'name', 'must be of type string'],
    [{ name: 'A B', mode: 'auto' }, 'name', 'must match /^[a-z-]+$/'],
    [{ name: 'abcdefghijkl', mode: 'auto' }, 'name', 'must be at most 10 characters long'],
    [{ name: 'a', mode: 'auto', count: 9 }, 'count', 'must be at most 5'],
    [{ name: 'a', mode: 'auto', count: 0 }, 'count', 'must be at least 1'],
    [{ name: 'a', mode: 'auto', limits: { minutes: 'x' } }, 'limits.minutes', 'of type number'],
    [{ name: 'a', mode: 'auto', tags: ['', '', ''] }, 'tags', 'must be at most 2 items long'],
    [{ name: 'a', mode: 'auto', tags: ['', 1] }, 'tags.1', 'must be of type string'],
    [{ name: 'a', mode: 'auto', link: 'x' }, 'link', 'must be a valid url'],
    [{ name: 'a', mode: 'auto', nmae: 1 }, '', 'has fields that are not known here: nmae'],
    [null, '', 'must be of type object'],
  ])('names the field and what is allowed: %j', (body, field, allowed) => {
    const problem = issuesFor(body);
    expect(problem).toMatchObject({ status: 400, code: 'invalid' });
    expect(problem.errors).toContainEqual({ field, message: expect.stringContaining(allowed) });
    expect(problem.detail).toContain(field);
    expect(problem.detail).toContain(allowed);
  });

  it('does not repeat a value, which may be a secret in the wrong field', () => {
    const secret = 'correct horse battery staple';
    const problem = issuesFor({ name: secret, mode: secret, count: secret });
    expect(problem.errors).toHaveLength(4);
    expect(JSON.stringify(problem)).not.toContain(secret);
  });

  it('is short, however much is wrong', () => {
    const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`f${at}`, 1]));
    expect(JSON.stringify(issuesFor(body)).length).toBeLessThan(10_000);
    const many = z.array(z.string()).safeParse(Array(5_000).fill(1)).error;
    const problem = problemOf(many);
    expect(problem.errors).toHaveLength(20);
    expect(problem.detail).toContain('4980 more');
  });

  it('keeps the fields of an error that was thrown by hand', () => {
    const issues = [{ code: 'custom', path: ['a', { key: 'b' }], message: 'must differ.' }];
    expect(problemOf(invalidBody(issues))).toMatchObject({
      detail: 'a.b: must differ.',
      errors: [{ field: 'a.b', message: 'must differ' }],
    });
  });

  it.each([
    [{ status: 404, message: 'Cannot GET /x' }, 404, 'not_found', 'GET /api/openapi.json'],
    [{ statusCode: 413, message: 'too large', limit: 1024 }, 413, 'invalid', 'files'],
    [{ statusCode: 415, message: 'unsupported charset' }, 415, 'invalid', 'application/json'],
    [{ status: 401, message: 'Unauthorized' }, 401, 'unauthenticated', 'Bearer'],
    [{ status: 503, message: 'closing' }, 503, 'unavailable', 'try again'],
    [{ status: 400, message: 'Unexpected token' }, 400, 'invalid', 'JSON'],
  ])('maps what others throw: %j', (error, status, code, hint) => {
    expect(problemOf(error)).toMatchObject({
      status,
      code,
      hint: expect.stringContaining(hint),
    });
  });

  it.each([{ status: 200 }, { status: 'x' }, { status: 999 }])(
    'trusts no odd status %j',
    (error) => {
      expect(problemOf({ ...error, message: 'x' }).status).toBe(500);
    },
  );
});
