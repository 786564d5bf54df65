import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { Mux } from './wire/mux.ts';
import { PROTOCOL_VERSION, SOCKET_NAME } from './wire/protocol.ts';

/** sandboxd answers a greeting within this, or it is not reachable now. */
const HELLO_MS = 10_000;

/** Linux: a name for a file without opening it; Node does not export the number. */
const O_PATH = 0o10000000;

/**
 * Connects to a sandboxd and greets it; throws `unavailable` when it does not answer.
 * The directory of the socket belongs to the agent, who may put a link there to a socket of the
 * host: what is connected to is pinned first and looked at, so that a link is never followed.
 */
export const connectSandboxd = async (
  socketDirectory: string,
  expected: { token: string; instance: string },
): Promise<Mux> => {
  const path = join(socketDirectory, SOCKET_NAME);
  if (process.platform !== 'linux') return greet(path, expected);
  let pinned: FileHandle;
  try {
    pinned = await open(path, O_PATH | constants.O_NOFOLLOW);
  } catch (cause) {
    throw new HangarError('unavailable', 'The sandbox has no socket.', { cause });
  }
  try {
    if (!(await pinned.stat()).isSocket()) {
      throw new HangarError('unavailable', 'What is in the place of the sandbox is no socket.');
    }
    return await greet(`/proc/self/fd/${pinned.fd}`, expected);
  } finally {
    await pinned.close();
  }
};

const greet = (path: string, expected: { token: string; instance: string }): Promise<Mux> =>
  new Promise((resolve, reject) => {
    const socket = connect(path);
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new HangarError('unavailable', `The sandbox does not answer: ${why}.`));
    };
    const timer = setTimeout(() => fail(`no greeting within ${HELLO_MS} ms`), HELLO_MS);
    socket.once('error', (error) => fail(error.message));
    socket.once('close', () => fail('it closed the connection'));
    socket.once('connect', () => {
      const mux: Mux = new Mux(socket, {
        hello(greeting) {
          clearTimeout(timer);
          if (greeting.protocol !== PROTOCOL_VERSION || greeting.instance !== expected.instance) {
            throw new Error('it is another one, or speaks another protocol version');
          }
          resolve(mux);
        },
        close: () => fail('it closed the connection'),
      });
      mux.greet({ protocol: PROTOCOL_VERSION, token: expected.token });
    });
  });
