/**
 * At most `max` characters of a text, and how many were cut. Never cuts a surrogate pair in two:
 * half of one is not a character, and not every reader of JSON takes it.
 */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return `${text.slice(0, end)} [cut, ${text.length - end} characters more]`;
}
