import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { QueryRunnerAlreadyReleasedError, TransactionNotStartedError } from 'typeorm';
import { whatToDo } from './answer.ts';

const withCode = (code: string): Error => Object.assign(new Error('refused'), { code });

describe('errors of a handler', () => {
  it.each(['57P01', '08006', '53300', 'ECONNREFUSED', '42P01', '3F000'])(
    'of a database that is away (%s) are unavailable, with what to do',
    (code) => {
      const error = whatToDo(withCode(code));
      expect(error).toMatchObject({ code: 'unavailable', hint: expect.any(String) });
    },
  );

  it('of a connection that was lost in mid-transaction are unavailable', () => {
    for (const lost of [new QueryRunnerAlreadyReleasedError(), new TransactionNotStartedError()]) {
      expect(whatToDo(lost)).toMatchObject({ code: 'unavailable', cause: lost });
    }
  });

  it('of our own stay as they are', () => {
    const own = new HangarError('conflict', 'taken');
    expect(whatToDo(own)).toBe(own);
    const fault = withCode('22P02');
    expect(whatToDo(fault)).toBe(fault);
    expect(whatToDo(undefined)).toBeUndefined();
  });
});
