/** Google's generateContent: server-sent events, or one JSON body. */
import type { ReplyTarget, ReplyWriter } from './reply-writer.ts';
import { EVENT_STREAM, USAGE, pieces, sendJson } from './reply-writer.ts';

type Part = Record<string, unknown>;

const promptTokenCount = USAGE.input + USAGE.cacheRead;
const usageMetadata = {
  promptTokenCount,
  cachedContentTokenCount: USAGE.cacheRead,
  candidatesTokenCount: USAGE.output,
  totalTokenCount: promptTokenCount + USAGE.output,
};

export function googleReply(target: ReplyTarget): ReplyWriter {
  const { response, model, stream, id: replyId } = target;
  const whole: Part[] = [];

  const body = (parts: Part[], fields: Part, candidate: Part = {}): Part => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...candidate }],
    modelVersion: model,
    responseId: replyId,
    ...fields,
  });
  const chunk = (value: Part): void => {
    if (stream) response.write(`data: ${JSON.stringify(value)}\r\n\r\n`);
  };
  const say = (parts: Part[]): void => {
    whole.push(...parts);
    for (const part of parts) chunk(body([part], {}));
  };

  return {
    open() {
      if (stream) response.writeHead(200, EVENT_STREAM);
    },
    think: (text) => say([{ text, thought: true }]),
    text: (text) => say(pieces(text).map((piece) => ({ text: piece }))),
    partialText: (text) => say([{ text }]),
    call(call) {
      const id = `fc_${replyId}_${whole.length}`;
      say([{ functionCall: { id, name: call.name, args: call.input } }]);
    },
    end() {
      const end = { finishReason: 'STOP' };
      if (!stream) return sendJson(response, 200, body(whole, { usageMetadata }, end));
      chunk(body([{ text: '' }], { usageMetadata }, end));
      response.end();
    },
  };
}
