import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Progress,
  type Tool,
} from '@modelcontextprotocol/client';
import { Client as ClientOfV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOfV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ADMIN_TOKEN, type GatewayStack } from './stack.ts';

/** The official clients: that of today with either protocol, and the one before it. */
export const PROTOCOLS = ['2026', '2025', '2025 by the v1 client'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface Answered {
  isError: boolean;
  text: string;
  structured: Record<string, unknown>;
}

export interface CallOptions {
  onprogress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

export interface McpClient {
  era: string | undefined;
  instructions: string | undefined;
  tools(): Promise<Tool[]>;
  call(name: string, input?: Record<string, unknown>, options?: CallOptions): Promise<Answered>;
  close(): Promise<void>;
}

/** Longer than any call of a test is held. */
const TIMEOUT_MS = 60_000;
const INFO = { name: 'spec', version: '1' };

export async function connectMcp(
  stack: Pick<GatewayStack, 'url'>,
  options: { token?: string | null; protocol?: Protocol } = {},
): Promise<McpClient> {
  const { token = ADMIN_TOKEN, protocol = '2026' } = options;
  const url = new URL(`${stack.url}/mcp`);
  const headers: Record<string, string> =
    token === null ? {} : { authorization: `Bearer ${token}` };
  const requestInit = { headers };
  if (protocol === '2025 by the v1 client') {
    const client = new ClientOfV1(INFO);
    const transport = new TransportOfV1(url, { requestInit });
    // Its own types do not hold under exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return {
      era: 'v1',
      instructions: client.getInstructions(),
      tools: async () => (await client.listTools()).tools as Tool[],
      call: async (name, input = {}, more = {}) =>
        answered(
          (await client.callTool({ name, arguments: input }, undefined, {
            timeout: TIMEOUT_MS,
            ...more,
          })) as CallToolResult,
        ),
      close: () => client.close(),
    };
  }
  const mode = protocol === '2026' ? { pin: '2026-07-28' } : 'legacy';
  const client = new Client(INFO, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return {
    era: client.getProtocolEra(),
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, input = {}, more = {}) =>
      answered(await client.callTool({ name, arguments: input }, { timeout: TIMEOUT_MS, ...more })),
    close: () => client.close(),
  };
}

function answered({ content, structuredContent, isError }: CallToolResult): Answered {
  const [part] = content;
  if (content.length !== 1 || part?.type !== 'text') throw new Error('not one text');
  return {
    isError: isError ?? false,
    text: part.text,
    structured: structuredContent as Record<string, unknown>,
  };
}
