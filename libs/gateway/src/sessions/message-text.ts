import {
  HangarError,
  MESSAGE_BYTES_MAX,
  type LineComment,
  type SendMessage,
} from '@hangar/contracts';

/**
 * The text that reaches the agent: what the person wrote, then each comment with its file, its line
 * and the line itself. Throws `invalid` when that is longer than a message may be.
 */
export function messageText({ message, comments }: SendMessage): string {
  if (comments.length === 0) return message ?? '';
  const text = [
    ...(message === undefined ? [] : [message, '']),
    comments.length === 1 ? 'A comment on your change:' : 'Comments on your changes:',
    ...comments.flatMap(commentLines),
  ].join('\n');
  if (new TextEncoder().encode(text).byteLength <= MESSAGE_BYTES_MAX) return text;
  throw new HangarError(
    'invalid',
    `Message and comments have more than ${MESSAGE_BYTES_MAX} bytes together.`,
    { hint: 'Send some of the comments with a message of their own.' },
  );
}

function commentLines({ path, line, side, code, text }: LineComment): string[] {
  const where = side === 'old' ? `${path}:${line} (a line that was removed)` : `${path}:${line}`;
  return ['', where, ...(code === '' ? [] : [`> ${code}`]), text];
}
