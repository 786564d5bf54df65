/** What the items of a Codex turn (commands, file changes, messages) mean. */
import type { HarnessEvent } from '../harness-adapter.ts';
import { boundedOutput, contentText, listAt, objectAt, textAt, type Json } from '../json-line.ts';

/** Names of Codex's own tools in events. */
export const SHELL = 'shell';
export const PATCH = 'apply_patch';

const CHANGES: Record<string, 'created' | 'updated' | 'deleted'> = {
  add: 'created',
  update: 'updated',
  delete: 'deleted',
};

export function itemStarted(item: Json): HarnessEvent[] {
  const id = textAt(item, 'id');
  switch (item['type']) {
    case 'commandExecution': {
      const input = { command: textAt(item, 'command'), cwd: textAt(item, 'cwd') };
      return [{ type: 'tool_started', id, name: SHELL, input }];
    }
    case 'fileChange': {
      const paths = listAt(item, 'changes').map((change) => textAt(change, 'path'));
      return [{ type: 'tool_started', id, name: PATCH, input: { paths } }];
    }
    case 'mcpToolCall':
      return [{ type: 'tool_started', id, name: mcpName(item), input: item['arguments'] }];
    case 'contextCompaction':
      return [{ type: 'notice', text: 'The conversation is being compacted.' }];
    default:
      return [];
  }
}

export function itemCompleted(item: Json): HarnessEvent[] {
  const id = textAt(item, 'id');
  const isError = textAt(item, 'status') !== 'completed';
  switch (item['type']) {
    case 'agentMessage': {
      const text = textAt(item, 'text');
      return text === '' ? [] : [{ type: 'message', role: 'assistant', text }];
    }
    case 'commandExecution': {
      const output = boundedOutput(textAt(item, 'aggregatedOutput'));
      const exitCode = item['exitCode'];
      const code = typeof exitCode === 'number' ? { exitCode } : {};
      return [{ type: 'tool_finished', id, output, isError, ...code }];
    }
    case 'fileChange':
      return fileChange(item, id, isError);
    case 'mcpToolCall': {
      const output = contentText(objectAt(item, 'result')['content']);
      const said = output || textAt(objectAt(item, 'error'), 'message');
      return [{ type: 'tool_finished', id, output: boundedOutput(said), isError }];
    }
    default:
      return [];
  }
}

/** A call of an MCP server's tool, by its server and its tool. */
export function mcpName(item: Json): string {
  return `${textAt(item, 'server')}.${textAt(item, 'tool')}`;
}

function fileChange(item: Json, id: string, isError: boolean): HarnessEvent[] {
  const changes = listAt(item, 'changes');
  const output = changes.map((change) => textAt(change, 'diff')).join('\n');
  const finished: HarnessEvent = {
    type: 'tool_finished',
    id,
    output: boundedOutput(output),
    isError,
  };
  if (isError) return [finished];
  const changed = changes.map((change): HarnessEvent => {
    const kind = textAt(objectAt(change, 'kind'), 'type');
    return {
      type: 'file_changed',
      path: textAt(change, 'path'),
      change: CHANGES[kind] ?? 'updated',
    };
  });
  return [finished, ...changed];
}
