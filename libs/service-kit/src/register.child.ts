/** A program with one traced piece of work: an HTTP request to itself and a database that is away. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { currentTrace, flushTelemetry, withSpan } from './telemetry.ts';

const server = createServer((_request, response) =>
  response.end(currentTrace()?.traceId ?? 'none'),
);
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

await withSpan('work', {}, async () => {
  const client = new pg.Client({ host: '127.0.0.1', port: 1 });
  await client.connect().catch(() => undefined);
});
for (const path of ['/api', '/health/live']) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  process.stdout.write(`answered ${path} ${await answer.text()}\n`);
}
server.close();
await flushTelemetry();
process.stdout.write('flushed\n');
