/** `950 B`, `12.4 kB`, `3.1 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** `950`, `12.4k`, `3.1M`. */
export function countText(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** US dollars; under a cent to four places, for turns of a small model cost that. */
export const costText = (dollars: number): string =>
  `$${dollars.toFixed(dollars > 0 && dollars < 0.01 ? 4 : 2)}`;

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd?: number | undefined;
}

/** What a turn took, in one line. */
export const usageText = ({ input_tokens, output_tokens, cost_usd }: Usage): string =>
  [
    `${countText(input_tokens)} tokens in, ${countText(output_tokens)} out`,
    ...(cost_usd === undefined ? [] : [costText(cost_usd)]),
  ].join(' · ');

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
