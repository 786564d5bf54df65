import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';

/** Binds `port` on loopback for a moment; undefined when somebody else has it. */
async function bind(port: number): Promise<number | undefined> {
  const server = createServer();
  const bound = Promise.withResolvers<number | undefined>();
  server.once('error', () => bound.resolve(undefined));
  server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
    bound.resolve((server.address() as AddressInfo).port),
  );
  const found = await bound.promise;
  if (found !== undefined) await new Promise((closed) => server.close(closed));
  return found;
}

/**
 * The port to listen on. 0 means: the one remembered in `file` if it is still free, else any
 * free one, which is then remembered, so that a restart keeps its address.
 */
export async function choosePort(port: number, file: string): Promise<number> {
  if (port !== 0) return port;
  const remembered = Number(await readFile(file, 'utf8').catch(() => '0'));
  const isPort = Number.isInteger(remembered) && remembered > 0 && remembered < 65_536;
  const free = (isPort ? await bind(remembered) : undefined) ?? (await bind(0)) ?? 0;
  await writeFile(file, String(free));
  return free;
}
