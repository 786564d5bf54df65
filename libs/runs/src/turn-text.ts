import { SUMMARY_BYTES_MAX } from '@hangar/contracts';
import type { RunRequest } from './run.ts';

/** hangar's own lines come first and say that they are hangar's; the person's text is last, whole. */
export function promptOf(request: RunRequest, conversation: 'native' | 'handoff'): string {
  const notes = request.notes
    ? `[hangar: since your last turn:\n${request.notes
        .split('\n')
        .map((line) => `- ${line}`)
        .join('\n')}]\n\n`
    : '';
  if (conversation === 'native' || !request.handoff) return notes + request.message;
  return `[hangar: ${request.handoff}]\n\n${notes}New message:\n${request.message}`;
}

/** Within what an event may carry; a cut is said. */
export function clip(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= SUMMARY_BYTES_MAX) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, SUMMARY_BYTES_MAX)).replace(/�$/, '')} [cut]`;
}

/** At most `max` characters; what was cut is said, and no character is cut in two. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return `${text.slice(0, end)} [cut, ${text.length - end} characters more]`;
}
