import { constants } from 'node:os';

const NAMES = new Map<number, string>(
  // SIGIOT and SIGPOLL are second names of SIGABRT and SIGIO; the first one wins.
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);

export const isSignalNumber = (number: number): boolean => NAMES.has(number);

export const signalName = (number: number): string => NAMES.get(number) ?? `SIG${number}`;
