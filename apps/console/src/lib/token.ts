/** The token of this browser. Kept until the person signs out; other tabs see it, other sites do not. */
const KEY = 'hangar.token';

export const readToken = (): string | null => localStorage.getItem(KEY);
export const keepToken = (token: string): void => localStorage.setItem(KEY, token);
export const forgetToken = (): void => localStorage.removeItem(KEY);

/**
 * The token of an address ending in `#token=...`, as `npm start` prints it. A fragment is sent to no
 * server and stands in no log; it is taken out of the address at once, and so out of the history.
 */
export function takeTokenOfAddress(): string | null {
  const found = /^#token=([\x21-\x7e]{1,512})$/.exec(location.hash)?.[1];
  if (found === undefined) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  try {
    return decodeURIComponent(found);
  } catch {
    return null;
  }
}
