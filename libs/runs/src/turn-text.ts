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
export function summed(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= SUMMARY_BYTES_MAX) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, SUMMARY_BYTES_MAX)).replace(/�$/, '')} [cut]`;
}
