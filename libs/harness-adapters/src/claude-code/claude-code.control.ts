/** Requests that Claude Code makes over the line protocol; each must be answered at once. */
import type { HarnessEvent, ProtocolInput } from '../harness-adapter.ts';
import { listAt, objectAt, textAt, type Json } from '../json-line.ts';

const NOBODY_ANSWERS =
  'Nobody can answer while this turn runs. End your turn with the question and its choices as ' +
  'your last message; the answer comes as the next message.';

export function answerControl(json: Json): { events: HarnessEvent[]; inputs: ProtocolInput[] } {
  const requestId = textAt(json, 'request_id');
  const request = objectAt(json, 'request');
  const key = `answer:${requestId}`;
  const answer = (response: Json): ProtocolInput => {
    const body = { subtype: 'success', request_id: requestId, response };
    return { key, line: JSON.stringify({ type: 'control_response', response: body }) };
  };
  if (textAt(request, 'subtype') !== 'can_use_tool') {
    return { events: [], inputs: [answer({})] };
  }
  const input = objectAt(request, 'input');
  if (textAt(request, 'tool_name') !== 'AskUserQuestion') {
    return { events: [], inputs: [answer({ behavior: 'allow', updatedInput: input })] };
  }
  const questions = listAt(input, 'questions').map((question) => textAt(question, 'question'));
  return {
    events: [{ type: 'notice', text: `The agent asked: ${questions.join('\n')}` }],
    inputs: [answer({ behavior: 'deny', message: NOBODY_ANSWERS })],
  };
}

export function controlRequest(key: string, subtype: string): ProtocolInput {
  const body = { type: 'control_request', request_id: `hangar-${key}`, request: { subtype } };
  return { key, line: JSON.stringify(body) };
}
