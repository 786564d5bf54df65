import { clip, type ActivityItem } from '@hangar/contracts';

/** Something the agent did, in one line of at most `max` characters and a few. */
export function activityLine(item: ActivityItem, max: number): string {
  const line = textOf(item).replaceAll(/\s+/g, ' ').trim();
  return clip(line, max);
}

function textOf(item: ActivityItem): string {
  switch (item.type) {
    case 'message':
      return `says: ${item.text ?? ''}`;
    case 'delivered':
      return `has message ${item.message_id ?? ''}`;
    case 'tool_started':
      return `${item.tool ?? 'tool'} ${item.input ?? ''}`;
    case 'tool_finished':
      return `${item.is_error ? 'failed' : 'done'}: ${item.output ?? ''}`;
    case 'file_changed':
      return `${item.change ?? 'changed'} ${item.path ?? ''}`;
    case 'retrying':
      return `tries again (${item.attempt ?? ''}): ${item.reason ?? ''}`;
    case 'asked':
      return `asks: ${item.text ?? ''}`;
    case 'ended':
      return `ended: ${item.outcome ?? ''}`;
    default:
      return `${item.type}: ${item.text ?? ''}`;
  }
}
