import type { EventEmitter } from 'node:events';

/**
 * A pool hands a connection over one step before its taker can listen: when the server cuts it in
 * that moment, the error meets no listener and would end the process. Here each connection gets
 * one that stays; whoever uses the connection learns of the cut from the query that fails.
 */
export function surviveCuts(pool: Pick<EventEmitter, 'on'>): void {
  const known = new WeakSet<EventEmitter>();
  pool.on('acquire', (connection: EventEmitter) => {
    if (known.has(connection)) return;
    known.add(connection);
    connection.on('error', () => undefined);
  });
}
