/** `fromEnv` -> `from-env`: how the names in a definition are typed. */
export const kebab = (key: string): string =>
  key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
