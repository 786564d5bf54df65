import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { surviveCuts } from './survive-cuts.ts';

describe('a connection that is cut as it is handed over', () => {
  it('does not end the process', () => {
    const pool = new EventEmitter();
    const connection = new EventEmitter();
    const cut = (): boolean => connection.emit('error', new Error('terminating connection'));
    expect(cut).toThrow('terminating connection');
    surviveCuts(pool);
    pool.emit('acquire', connection);
    expect(cut).not.toThrow();
    pool.emit('acquire', connection);
    expect(connection.listenerCount('error')).toBe(1);
  });
});
