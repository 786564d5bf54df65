import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect } from '@jest/globals';
import { attachTerminalQuerySchema, openTerminalSchema } from '@hangar/contracts';
import type { SandboxRef, SandboxTerminals, TerminalView } from '@hangar/sandbox-drivers';
import { WebSocket } from 'ws';
import { serveTerminals } from '../../../../../libs/gateway/src/terminals/terminal-upgrade.ts';
import { openLocalDriver } from '../../../../../libs/sandbox-drivers/src/testing/local-driver-factory.ts';
import { newSpec, until } from '../../../../../libs/sandbox-drivers/src/testing/suite-context.ts';
import type { LimitTests } from './bench.ts';

const SIZE = { cols: 80, rows: 24 };

/** The terminals of a real sandbox. */
async function inSandbox(
  work: (terminals: SandboxTerminals, ref: SandboxRef) => Promise<void>,
): Promise<void> {
  const { driver, close } = await openLocalDriver('auto');
  try {
    const ref = await driver.create(newSpec());
    await work(driver.terminals, ref);
    await driver.destroy(ref.id);
  } finally {
    await driver.close();
    await close();
  }
}

/** A gateway's door to one terminal, which prints and takes what a test says. */
async function atDoor(
  work: (url: string, view: { outputs: PassThrough[]; written: Uint8Array[] }) => Promise<void>,
): Promise<void> {
  const outputs: PassThrough[] = [];
  const written: Uint8Array[] = [];
  const viewOf = (output: PassThrough): TerminalView => ({
    ...SIZE,
    offset: 0,
    output,
    onResize: () => undefined,
    write: async (bytes) => void written.push(bytes),
    resize: async () => undefined,
    exit: new Promise(() => undefined),
    detach: async () => undefined,
  });
  const attach = async (): Promise<TerminalView> => {
    const output = new PassThrough();
    outputs.push(output);
    return viewOf(output);
  };
  const server: Server = createServer();
  const sockets = serveTerminals(server, {
    tokens: { resolve: async () => ({ owner: 'ada', scopes: ['write'] }) },
    terminals: { attach },
  } as unknown as Parameters<typeof serveTerminals>[1]);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await work(`ws://127.0.0.1:${port}/api/sessions/one/terminals/trm-00000001/attach`, {
      outputs,
      written,
    });
  } finally {
    for (const output of outputs) output.end();
    await sockets.close();
    server.closeAllConnections();
    server.close();
  }
}

const join = (url: string): WebSocket =>
  new WebSocket(url, { headers: { authorization: 'Bearer anybody' } });

async function joined(url: string): Promise<WebSocket> {
  const socket = join(url);
  await once(socket, 'message');
  return socket;
}

/** Code of a frame that is too large (RFC 6455). */
const CLOSE_TOO_LARGE = 1009;
const CHUNK_BYTES = 16 * 1024;

/** Shells in a sandbox, and who looks at them. */
export const terminalLimits: LimitTests = {
  terminals: (value) =>
    inSandbox(async (terminals, ref) => {
      const open = (at: number): Promise<void> =>
        terminals.open(ref, `trm-${at}`, { argv: ['cat'], ...SIZE });
      for (let at = 0; at < value; at += 1) await open(at);
      await expect(open(value)).rejects.toMatchObject({ code: 'exhausted' });
    }),

  terminal_viewers: (value) =>
    inSandbox(async (terminals, ref) => {
      await terminals.open(ref, 'trm-1', { argv: ['cat'], ...SIZE });
      const attach = (): Promise<TerminalView> =>
        terminals.attach(ref, 'trm-1', { from: 0, size: SIZE });
      const views: TerminalView[] = [];
      for (let at = 0; at < value; at += 1) views.push(await attach());
      await expect(attach()).rejects.toMatchObject({ code: 'exhausted' });
      for (const view of views) await view.detach();
    }),

  terminal_scrollback_bytes: (value) =>
    inSandbox(async (terminals, ref) => {
      const script = `head -c ${value + 5000} /dev/zero | tr '\\0' x; read line`;
      await terminals.open(ref, 'trm-1', { argv: ['sh', '-c', script], ...SIZE });
      const printed = async (): Promise<number> => (await terminals.list(ref))[0]?.printed ?? 0;
      await until('it printed all', async () => (await printed()) >= value + 5000);
      const view = await terminals.attach(ref, 'trm-1', { from: 0, size: SIZE });
      expect((await printed()) - view.offset).toBe(value);
      await view.detach();
    }),

  terminal_size: (value) => {
    const fits = (size: number): boolean[] => [
      openTerminalSchema.safeParse({ cols: size }).success,
      openTerminalSchema.safeParse({ rows: size }).success,
      attachTerminalQuerySchema.safeParse({ cols: `${size}`, rows: `${size}` }).success,
    ];
    expect(fits(value)).toEqual([true, true, true]);
    expect(fits(value + 1)).toEqual([false, false, false]);
  },

  terminal_message_bytes: (value) =>
    atDoor(async (url, { written }) => {
      const socket = await joined(url);
      socket.send(Buffer.alloc(value));
      await until('it is written', async () => written.length > 0);
      expect(written[0]?.byteLength).toBe(value);
      socket.send(Buffer.alloc(value + 1));
      const [code] = (await once(socket, 'close')) as [number];
      expect(code).toBe(CLOSE_TOO_LARGE);
    }),

  terminal_unacked_bytes: (value) =>
    atDoor(async (url, { outputs }) => {
      const socket = await joined(url);
      let got = 0;
      socket.on('message', (message: Buffer, isBinary) => {
        if (isBinary) got += message.byteLength;
      });
      for (let sent = 0; sent <= value + 4 * CHUNK_BYTES; sent += CHUNK_BYTES)
        outputs[0]?.write(Buffer.alloc(CHUNK_BYTES));
      // The chunk that goes past the bound is the last one.
      await until('it is sent that much', async () => got > value);
      const before = got;
      socket.ping();
      await once(socket, 'pong');
      expect([before, got]).toEqual([value + CHUNK_BYTES, value + CHUNK_BYTES]);
      socket.send(JSON.stringify({ type: 'ack', offset: got }));
      await until('the rest is sent', async () => got > before);
    }),

  terminal_sockets: (value) =>
    atDoor(async (url) => {
      const sockets = await Promise.all(Array.from({ length: value }, () => joined(url)));
      const refused = join(url);
      const [error] = (await once(refused, 'error')) as [Error];
      expect(error.message).toContain('503');
      for (const socket of sockets) socket.close();
    }),
};
