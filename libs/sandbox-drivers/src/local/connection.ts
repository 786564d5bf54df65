import { connect } from 'node:net';
import { HangarError } from '@hangar/contracts';
import { Mux } from './wire/mux.ts';
import { PROTOCOL_VERSION, SOCKET_NAME } from './wire/protocol.ts';
import { shortenSocketDirectory } from './wire/socket-path.ts';

/** sandboxd answers a greeting within this, or it is not reachable now. */
const HELLO_MS = 10_000;

/** Connects to a sandboxd and greets it; throws `unavailable` when it does not answer. */
export const connectSandboxd = async (
  socketDirectory: string,
  expected: { token: string; instance: string },
): Promise<Mux> => {
  let short;
  try {
    short = shortenSocketDirectory(socketDirectory);
  } catch (cause) {
    throw new HangarError('unavailable', 'The sandbox has no socket directory.', { cause });
  }
  try {
    return await greet(`${short.directory}/${SOCKET_NAME}`, expected);
  } finally {
    short.release();
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
