/** `1 turn`, `2 turns`: texts are read by people. */
export const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
