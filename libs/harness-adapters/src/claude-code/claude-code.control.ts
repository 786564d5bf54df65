/** Lines of Claude Code's control protocol that hangar writes. */
import type { ProtocolInput } from '../harness-adapter.ts';
import type { Json } from '../json-line.ts';

/** The answer to a request of the program; each must be answered, once. */
export function controlResponse(requestId: string, response: Json): ProtocolInput {
  const body = { subtype: 'success', request_id: requestId, response };
  return {
    key: `answer:${requestId}`,
    line: JSON.stringify({ type: 'control_response', response: body }),
  };
}

export function controlRequest(key: string, subtype: string, fields: Json = {}): ProtocolInput {
  const request = { subtype, ...fields };
  const body = { type: 'control_request', request_id: `hangar-${key}`, request };
  return { key, line: JSON.stringify(body) };
}
