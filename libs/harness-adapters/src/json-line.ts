/** Reading lines of JSON that another program wrote: nothing is trusted to be there. */

export type Json = Record<string, unknown>;

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object on a line, or null when the line is anything else. */
export function parseJson(line: string): Json | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJson(value) ? value : null;
  } catch {
    return null;
  }
}

export function objectAt(json: Json, key: string): Json {
  const value = json[key];
  return isJson(value) ? value : {};
}

export function textAt(json: Json, key: string): string {
  const value = json[key];
  return typeof value === 'string' ? value : '';
}

export function numberAt(json: Json, key: string): number {
  const value = json[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

export function listAt(json: Json, key: string): Json[] {
  const value = json[key];
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** The text parts of a message's content, which is a string or a list of parts. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content.filter(isJson).map((part) => textAt(part, 'text'));
  return parts.filter((text) => text !== '').join('\n');
}

/** Longest output of one tool call that leaves an adapter, in characters. */
export const TOOL_OUTPUT_CHARACTERS_MAX = 64 * 1024;

export function boundedOutput(output: string): string {
  if (output.length <= TOOL_OUTPUT_CHARACTERS_MAX) return output;
  const dropped = output.length - TOOL_OUTPUT_CHARACTERS_MAX;
  return `${output.slice(0, TOOL_OUTPUT_CHARACTERS_MAX)}\n[${dropped} more characters]`;
}
