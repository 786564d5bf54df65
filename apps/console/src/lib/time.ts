/** Times as people read them. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `now`, `4 min ago`, `3 h ago`, `2 d ago`, then the date. */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (seconds < MINUTE) return 'now';
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  if (seconds < 30 * DAY) return `${Math.floor(seconds / DAY)} d ago`;
  return time.slice(0, 10);
}

/** Exact, in the reader's own zone and language. */
export const exact = (time: string): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** `8 s`, `4 min 10 s`, `2 h 5 min`. */
export function lasting(from: string, to: string | number): string {
  const end = typeof to === 'number' ? to : Date.parse(to);
  const seconds = Math.max(0, Math.round((end - Date.parse(from)) / 1000));
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return pair(seconds, MINUTE, 'min', 1, 's');
  return pair(seconds, HOUR, 'h', MINUTE, 'min');
}

function pair(seconds: number, large: number, a: string, small: number, b: string): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${a}${rest > 0 ? ` ${rest} ${b}` : ''}`;
}

/** `15 min`, `2 h`; 0 keeps it up. */
export function minutesText(minutes: number): string {
  if (minutes === 0) return 'kept until you suspend it';
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}
