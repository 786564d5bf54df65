import { z } from 'zod';
import { PAGE_SIZE_MAX, WAIT_SECONDS_MAX } from '../limits.ts';
import { queryNumber } from './names.ts';

/** Opaque: what `next_cursor` of the page before said. */
export const cursorSchema = z.string().min(1).max(500);

export const pageQueryFields = {
  limit: queryNumber(1, PAGE_SIZE_MAX).optional(),
  cursor: cursorSchema.optional(),
};

export const pageQuerySchema = z.strictObject(pageQueryFields);
export type PageQuery = z.output<typeof pageQuerySchema>;

/** `next_cursor` is null on the last page. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** `wait`: seconds that the answer may be held back for the outcome. */
export const waitQuerySchema = z.strictObject({
  wait: queryNumber(0, WAIT_SECONDS_MAX).optional(),
});
export type WaitQuery = z.output<typeof waitQuerySchema>;

export const noQuerySchema = z.strictObject({});

/** RFC 9457, with hangar's code and a hint that says what to do. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum([
      'invalid',
      'not_found',
      'conflict',
      'forbidden',
      'unauthenticated',
      'exhausted',
      'unavailable',
      'internal',
    ]),
    detail: z.string(),
    hint: z.string().optional(),
    instance: z.string().optional(),
    /** Under this id the log has the cause. */
    request_id: z.string().optional(),
    /** Of a body that is not valid: which field, and what is allowed there. */
    errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;
