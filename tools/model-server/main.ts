/** `node tools/model-server/main.ts --port 0`: prints its address on one line and serves. */
import { parseArgs } from 'node:util';
import { startModelServer } from './model-server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const server = await startModelServer({ port: Number(values.port) });
console.log(`model server on ${server.url}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.close().then(() => process.exit(0)));
}
