const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** `3 s`, `4 min`, `2 h 5 min`, `3 d 4 h`: at most two units. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`;
  if (whole < HOUR) return two(whole, MINUTE, 'min', SECOND, 's', whole < 10 * MINUTE);
  if (whole < DAY) return two(whole, HOUR, 'h', MINUTE, 'min', true);
  return two(whole, DAY, 'd', HOUR, 'h', whole < 10 * DAY);
}

function two(
  seconds: number,
  big: number,
  bigUnit: string,
  small: number,
  smallUnit: string,
  withSmall: boolean,
): string {
  const rest = Math.floor((seconds % big) / small);
  const head = `${Math.floor(seconds / big)} ${bigUnit}`;
  return withSmall && rest > 0 ? `${head} ${rest} ${smallUnit}` : head;
}

/** `just now`, `4 min ago`, `in 3 s` (a server whose clock is ahead). */
export function agoText(time: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return time;
  if (Math.abs(seconds) < 5) return 'just now';
  return seconds > 0 ? `${durationText(seconds)} ago` : `in ${durationText(-seconds)}`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
