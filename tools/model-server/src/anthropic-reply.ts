/** Anthropic Messages: server-sent events, or one JSON body for `stream: false`. */
import type { ReplyTarget, ReplyWriter } from './reply-writer.ts';
import { EVENT_STREAM, USAGE, pieces, sendJson } from './reply-writer.ts';
import type { ToolCall } from './plan.ts';

type Block = Record<string, unknown>;

const usage = {
  input_tokens: USAGE.input,
  cache_read_input_tokens: USAGE.cacheRead,
  cache_creation_input_tokens: USAGE.cacheWrite,
};

export function anthropicReply(target: ReplyTarget): ReplyWriter {
  const { response, model, stream, id: replyId } = target;
  const blocks: Block[] = [];
  const message = { id: `msg_${replyId}`, type: 'message', role: 'assistant', model };

  const event = (type: string, fields: Block): void => {
    if (stream) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  };
  const block = (start: Block, whole: Block, deltas: Block[]): void => {
    const index = blocks.push(whole) - 1;
    event('content_block_start', { index, content_block: start });
    for (const delta of deltas) event('content_block_delta', { index, delta });
    event('content_block_stop', { index });
  };
  const stopReason = (): string =>
    blocks.some((each) => each['type'] === 'tool_use') ? 'tool_use' : 'end_turn';

  return {
    open() {
      if (!stream) return;
      response.writeHead(200, EVENT_STREAM);
      const counted = { ...usage, output_tokens: 1 };
      const start = { content: [], stop_reason: null, stop_sequence: null, usage: counted };
      event('message_start', { message: { ...message, ...start } });
    },
    think(text) {
      const deltas = [
        { type: 'thinking_delta', thinking: text },
        { type: 'signature_delta', signature: 'c2NyaXB0ZWQ=' },
      ];
      const empty = { type: 'thinking', thinking: '', signature: '' };
      block(empty, { type: 'thinking', thinking: text, signature: 'c2NyaXB0ZWQ=' }, deltas);
    },
    text(text) {
      const deltas = pieces(text).map((piece) => ({ type: 'text_delta', text: piece }));
      block({ type: 'text', text: '' }, { type: 'text', text }, deltas);
    },
    partialText(text) {
      const index = blocks.length;
      event('content_block_start', { index, content_block: { type: 'text', text: '' } });
      event('content_block_delta', { index, delta: { type: 'text_delta', text } });
    },
    call(call: ToolCall) {
      const use = { type: 'tool_use', id: `toolu_${replyId}_${blocks.length}`, name: call.name };
      const deltas = [{ type: 'input_json_delta', partial_json: JSON.stringify(call.input) }];
      block({ ...use, input: {} }, { ...use, input: call.input }, deltas);
    },
    end() {
      const end = { stop_reason: stopReason(), stop_sequence: null };
      const counted = { ...usage, output_tokens: USAGE.output };
      if (!stream) {
        return sendJson(response, 200, { ...message, content: blocks, ...end, usage: counted });
      }
      event('message_delta', { delta: end, usage: { output_tokens: USAGE.output } });
      event('message_stop', {});
      response.end();
    },
  };
}
