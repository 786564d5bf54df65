import { allows, invalidBody, toProblem, type Problem } from '@hangar/service-kit';
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { requireScope } from '../auth/access.guard.ts';
import { whatToDo } from '../auth/answer.ts';
import type { Caller } from '../auth/caller.ts';
import type { Hold } from '../sessions/sessions.service.ts';
import { ALL_TOOLS } from './all-tools.ts';
import { ProgressTeller } from './progress.ts';
import type { ToolDefinition, ToolServices } from './tool.ts';

const INSTRUCTIONS = `hangar runs other coding agents for you in sessions that outlive this conversation. A session has a name, a sandbox with a clone of a git repository, and a conversation with its own agent; it can be suspended and goes on days later where it was.
A usual course: limits (what there is), new_session with the whole task as message, then read the answer; changes shows the work, send_to_session asks for more, suspend_session when it can rest.
Calls wait a bounded time. "pending: true" is no failure: the work goes on, and get_session with wait_seconds waits for it. When a card with a question or decision comes back, answer it, or ask your person. Every result ends with what to do next.`;

export interface McpParts {
  services: ToolServices;
  /** Aborted when this gateway closes: what is held is then answered as pending. */
  closing: AbortSignal;
  /** Failures that are nobody's refusal, with the id under which the agent was told of them. */
  onFailure(error: unknown, requestId: string): void;
}

/** MCP for one request of one caller; nothing is kept between two requests. */
export function createMcpServer(caller: Caller, parts: McpParts): Server {
  const server = new Server(
    { name: 'hangar', title: 'hangar', version: '1' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  // What the token may not do is not offered; asked for all the same it is refused, as by REST.
  const offered = LISTED.filter(({ scope }) => allows(caller, scope)).map(({ listed }) => listed);
  server.setRequestHandler('tools/list', () => ({ tools: offered }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = ALL_TOOLS.find(({ name }) => name === params.name);
    if (tool) return callTool(tool, params.arguments ?? {}, caller, context, parts);
    const known = ALL_TOOLS.map(({ name }) => name).join(', ');
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no tool ${params.name}; there are ${known}.`,
    );
  });
  return server;
}

async function callTool(
  tool: ToolDefinition,
  input: Record<string, unknown>,
  caller: Caller,
  { mcpReq }: ServerContext,
  { services, closing, onFailure }: McpParts,
): Promise<CallToolResult> {
  const asking = { ...caller, gone: AbortSignal.any([caller.gone, mcpReq.signal, closing]) };
  try {
    requireScope(caller, tool.scope);
    const parsed = tool.input.safeParse(input);
    if (!parsed.success) throw invalidBody(parsed.error.issues);
    const hold = (wait: number): Hold => holdOf(wait, asking, services, mcpReq);
    const answer = await tool.run(parsed.data, { ...services, caller: asking, hold });
    return {
      content: [{ type: 'text', text: answer.text }],
      structuredContent: { ...answer.structured },
    };
  } catch (error) {
    return refusal(tool, error, caller, onFailure);
  }
}

/** Progress is told to a client that asked for it, and to no other. */
function holdOf(
  wait: number,
  caller: Caller,
  { activity }: ToolServices,
  { _meta, notify }: ServerContext['mcpReq'],
): Hold {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { wait };
  const teller = new ProgressTeller({
    caller,
    activity,
    now: () => performance.now(),
    tell: (progress) =>
      notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
  });
  return { wait, onLook: (rows) => teller.look(rows) };
}

/** The problem document that REST would answer: an ordinary refusal is no error of the protocol. */
function refusal(
  tool: ToolDefinition,
  error: unknown,
  { correlation }: Caller,
  onFailure: McpParts['onFailure'],
): CallToolResult {
  const told = whatToDo(error);
  const problem = toProblem(told, { path: '/mcp', requestId: correlation });
  if (problem.status >= 500) onFailure(told, correlation);
  const lines = [problem.detail, keptAfter(tool, problem), problem.hint];
  return {
    isError: true,
    content: [{ type: 'text', text: lines.filter(Boolean).join('\n') }],
    structuredContent: { ...problem },
  };
}

const REFUSED: ReadonlySet<string> = new Set(['invalid', 'not_found', 'conflict', 'forbidden']);

function keptAfter({ scope }: ToolDefinition, { code }: Problem): string | null {
  if (scope === 'read') return null;
  if (REFUSED.has(code)) return 'Nothing was changed.';
  if (code === 'exhausted') return null;
  return 'It is not known whether it was done: look with get_session before you try again.';
}

interface ListedTool {
  scope: ToolDefinition['scope'];
  listed: Tool;
}

const LISTED: readonly ListedTool[] = ALL_TOOLS.map((tool) => ({
  scope: tool.scope,
  listed: {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchemaOf(tool.input),
    annotations: {
      title: tool.title,
      readOnlyHint: tool.scope === 'read',
      destructiveHint: tool.destroys ?? false,
      openWorldHint: false,
    },
  },
}));

/** Without references, which some clients do not follow, and without names of hangar's own. */
function inputSchemaOf(input: z.ZodObject): Tool['inputSchema'] {
  const { $schema: _, $defs = {}, ...schema } = z.toJSONSchema(input, { io: 'input' });
  const whole = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(whole);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, id: _id, ...rest } = value as Record<string, unknown>;
    const named = typeof $ref === 'string' ? $defs[$ref.replace('#/$defs/', '')] : undefined;
    const entries = Object.entries({ ...(named as object | undefined), ...rest });
    return Object.fromEntries(entries.map(([key, each]) => [key, whole(each)]));
  };
  return whole(schema) as Tool['inputSchema'];
}
