const CUT = /\[cut, \d+ characters more\]$/;
const CUT_CHARACTERS_MAX = 40;

/**
 * At most `max` characters of a text, and how many were cut. Never cuts a surrogate pair in two:
 * half of one is not a character, and not every reader of JSON takes it. Cut again, it stays as it is.
 */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  if (text.length <= max + CUT_CHARACTERS_MAX && CUT.test(text)) return text;
  const last = text.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return `${text.slice(0, end)} [cut, ${text.length - end} characters more]`;
}
