import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * FIFOs without a thread that waits for the other end. Writing fails at once while nobody reads;
 * reading also holds the other end open, so that it never ends.
 */
export const openFifoWriter = (path: string): Socket | undefined => {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const socket = new Socket({ fd, readable: false, writable: true });
    socket.on('error', () => socket.destroy());
    return socket;
  } catch {
    return undefined;
  }
};

export const openFifoReader = (path: string): Socket => {
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const socket = new Socket({ fd, readable: true, writable: false });
  socket.on('error', () => socket.destroy());
  return socket;
};
