import { describe, expect, it } from '@jest/globals';
import { sessionSummarySchema, type SessionDocument } from '@hangar/contracts';
import { summaryOf } from './summary-of.ts';

describe('the row of a list, from a whole session', () => {
  it('has the fields of a row and no others, and counts what it leaves out', () => {
    const fields = Object.keys(sessionSummarySchema.shape);
    const document = Object.fromEntries(fields.map((name) => [name, name])) as object;
    const row = summaryOf({
      ...document,
      turns: [
        { finished_at: 'then', summary: 'first' },
        { finished_at: null, summary: '' },
      ],
      attention: [{}],
      queue: [{}, {}],
      checkpoints: [],
      continuity: null,
      limits: {},
      permissions: {},
    } as unknown as SessionDocument);
    expect(Object.keys(row).toSorted()).toEqual(fields.toSorted());
    expect(row).toMatchObject({
      turn_count: 2,
      last_summary: 'first',
      attention_count: 1,
      queue_count: 2,
    });
  });
});
