/** OpenAI Responses and chat completions: server-sent events, or one JSON body. */
import type { ReplyTarget, ReplyWriter } from './reply-writer.ts';
import { EVENT_STREAM, USAGE, pieces, sendJson } from './reply-writer.ts';
import type { ToolCall } from './plan.ts';

type Item = Record<string, unknown>;

const inputTokens = USAGE.input + USAGE.cacheRead;
const totalTokens = inputTokens + USAGE.output;

export function responsesReply(target: ReplyTarget): ReplyWriter {
  const { response, model, stream, id: replyId } = target;
  const output: Item[] = [];
  let sequence = 0;

  const event = (type: string, fields: Item): void => {
    if (!stream) return;
    const body = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    response.write(`event: ${type}\ndata: ${body}\n\n`);
  };
  const whole = (status: string, fields: Item): Item => ({
    id: `resp_${replyId}`,
    object: 'response',
    created_at: 1,
    status,
    model,
    ...fields,
  });
  const item = (start: Item, done: Item, deltas: () => void): void => {
    const index = output.push(done) - 1;
    event('response.output_item.added', { output_index: index, item: start });
    deltas();
    event('response.output_item.done', { output_index: index, item: done });
  };

  return {
    open() {
      if (stream) response.writeHead(200, EVENT_STREAM);
      event('response.created', { response: whole('in_progress', { output: [] }) });
    },
    think(text) {
      const summary = [{ type: 'summary_text', text }];
      const reasoning = { id: `rs_${replyId}`, type: 'reasoning', encrypted_content: 'c2NyaXB0' };
      item({ ...reasoning, summary: [] }, { ...reasoning, summary }, () => undefined);
    },
    text(text) {
      const id = `msg_${replyId}_${output.length}`;
      const place = { item_id: id, output_index: output.length, content_index: 0 };
      const start = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] };
      const content = [{ type: 'output_text', text, annotations: [] }];
      item(start, { ...start, status: 'completed', content }, () => {
        for (const delta of pieces(text)) event('response.output_text.delta', { ...place, delta });
        event('response.output_text.done', { ...place, text });
      });
    },
    partialText(text) {
      const id = `msg_${replyId}_${output.length}`;
      const start = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] };
      event('response.output_item.added', { output_index: output.length, item: start });
      const place = { item_id: id, output_index: output.length, content_index: 0 };
      event('response.output_text.delta', { ...place, delta: text });
    },
    call(call) {
      const done = responsesCall(call, `${replyId}_${output.length}`);
      item({ ...done, status: 'in_progress' }, done, () => undefined);
    },
    end() {
      const usage = {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: USAGE.cacheRead },
        output_tokens: USAGE.output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: totalTokens,
      };
      const body = whole('completed', { output, usage });
      if (!stream) return sendJson(response, 200, body);
      event('response.completed', { response: body });
      response.end();
    },
  };
}

function responsesCall(call: ToolCall, suffix: string): Item {
  const shared = { status: 'completed', call_id: `call_${suffix}`, name: call.name };
  return call.kind === 'custom'
    ? { id: `ctc_${suffix}`, type: 'custom_tool_call', ...shared, input: call.input }
    : {
        id: `fc_${suffix}`,
        type: 'function_call',
        ...shared,
        arguments: JSON.stringify(call.input),
      };
}

export function chatReply(target: ReplyTarget): ReplyWriter {
  const { response, model, stream, id: replyId } = target;
  const texts: string[] = [];
  const calls: Item[] = [];
  const shared = { id: `chatcmpl-${replyId}`, created: 1, model };
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: USAGE.output,
    total_tokens: totalTokens,
    prompt_tokens_details: { cached_tokens: USAGE.cacheRead },
  };

  const chunk = (fields: Item): void => {
    if (!stream) return;
    const body = { ...shared, object: 'chat.completion.chunk', ...fields };
    response.write(`data: ${JSON.stringify(body)}\n\n`);
  };
  const delta = (fields: Item): void =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
  const finishReason = (): string => (calls.length > 0 ? 'tool_calls' : 'stop');

  return {
    open() {
      if (stream) response.writeHead(200, EVENT_STREAM);
      delta({ role: 'assistant', content: '' });
    },
    think: (text) => delta({ reasoning_content: text }),
    text(text) {
      texts.push(text);
      for (const piece of pieces(text)) delta({ content: piece });
    },
    partialText: (text) => delta({ content: text }),
    call(call) {
      const fn = { name: call.name, arguments: JSON.stringify(call.input) };
      const index = calls.length;
      const made = { id: `call_${replyId}_${index}`, type: 'function', function: fn };
      calls.push(made);
      delta({ tool_calls: [{ index, ...made }] });
    },
    end() {
      const finish = { index: 0, finish_reason: finishReason() };
      if (!stream) {
        const message = { role: 'assistant', content: texts.join(''), tool_calls: calls };
        const body = { ...shared, object: 'chat.completion', choices: [{ ...finish, message }] };
        return sendJson(response, 200, { ...body, usage });
      }
      chunk({ choices: [{ ...finish, delta: {} }] });
      chunk({ choices: [], usage });
      response.end('data: [DONE]\n\n');
    },
  };
}
