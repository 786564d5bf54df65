/** What Claude Code's assistant and user lines mean. */
import type { HarnessEvent } from '../harness-adapter.ts';
import { boundedOutput, contentText, listAt, objectAt, textAt, type Json } from '../json-line.ts';

/** Text that the program made up itself (an error, a notice): never a word of the assistant. */
export function isSynthetic(json: Json): boolean {
  return textAt(objectAt(json, 'message'), 'model') === '<synthetic>' || 'error' in json;
}

/** One content block a line; blocks of one reply share the message id. */
export function assistantEvents(json: Json): HarnessEvent[] {
  if (isSynthetic(json)) return [];
  return listAt(objectAt(json, 'message'), 'content').flatMap((block): HarnessEvent[] => {
    if (block['type'] === 'text') {
      const text = textAt(block, 'text');
      return text === '' ? [] : [{ type: 'message', role: 'assistant', text }];
    }
    if (block['type'] !== 'tool_use') return [];
    const id = textAt(block, 'id');
    return [{ type: 'tool_started', id, name: textAt(block, 'name'), input: block['input'] }];
  });
}

export function toolResultEvents(json: Json): HarnessEvent[] {
  const content = listAt(objectAt(json, 'message'), 'content');
  const results = content.filter((part) => part['type'] === 'tool_result');
  const finished = results.map((part): HarnessEvent => {
    const output = contentText(part['content']);
    const isError = part['is_error'] === true;
    // The program writes a failed command's exit code as the first line of its output.
    const code = isError ? /^Exit code (\d+)/.exec(output)?.[1] : undefined;
    return {
      type: 'tool_finished',
      id: textAt(part, 'tool_use_id'),
      output: boundedOutput(output),
      isError,
      ...(code === undefined ? {} : { exitCode: Number(code) }),
    };
  });
  return [...finished, ...fileChange(objectAt(json, 'tool_use_result'))];
}

/** Write and Edit say `create` or `update`, and the file. */
function fileChange(result: Json): HarnessEvent[] {
  const path = textAt(result, 'filePath');
  const isChange = result['type'] === 'create' || 'structuredPatch' in result;
  if (path === '' || !isChange) return [];
  const change = result['type'] === 'create' ? 'created' : 'updated';
  return [{ type: 'file_changed', path, change }];
}
