import { createClient } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { create } from '@bufbuild/protobuf';
import { sandboxData } from '@hangar/contracts';
import type { DetachedRuns, SandboxIo } from '../sandbox-driver.ts';
import { createRemoteFiles } from './remote-files.ts';
import { remoteExec, remoteFollow } from './remote-output.ts';
import { createRemoteTerminals } from './remote-terminals.ts';
import { call, UNARY, type DataClient, type ToTarget } from './data-client.ts';
import { DATA_HTTP2 } from './http2-settings.ts';
import { sendToken } from './service-token.ts';
import { fromRunStatus } from './wire-values.ts';

export interface RemoteSandboxIoOptions {
  /** Base address of the sandboxes service's data plane, `http://host:port`. */
  url: string;
  token: string;
  /** Nothing through this client counts as activity [X4]: checkpoints and probes. */
  quiet?: boolean;
}

/** A connection that does not answer a ping for this long is lost. */
const PING_INTERVAL_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;
/** Nothing that comes back in one message is larger. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The data plane of a sandboxes service elsewhere. Errors keep their codes. A connection that
 * is lost gives `connection_lost` as an exit and `unavailable` as an error; the next call
 * connects again.
 */
export const createRemoteSandboxIo = (
  options: RemoteSandboxIoOptions,
): SandboxIo & { close(): void } => {
  const sessionManager = new Http2SessionManager(
    options.url,
    { pingIntervalMs: PING_INTERVAL_MS, pingTimeoutMs: PING_TIMEOUT_MS },
    DATA_HTTP2,
  );
  const transport = createConnectTransport({
    httpVersion: '2',
    baseUrl: options.url,
    sessionManager,
    interceptors: [sendToken(options.token)],
    readMaxBytes: MESSAGE_BYTES_MAX,
    // Bytes of sandboxes are compressed already or not worth the time.
    acceptCompression: [],
  });
  const client = createClient(sandboxData.SandboxDataService, transport);
  const toTarget: ToTarget = (ref, quiet = false) => ({
    sandboxId: ref.id,
    instance: ref.instance,
    quiet: quiet || options.quiet === true,
  });
  return {
    exec: (ref, request) => remoteExec(client, toTarget, ref, request),
    terminals: createRemoteTerminals(client, toTarget),
    runs: createRemoteRuns(client, toTarget),
    files: createRemoteFiles(client, toTarget),
    close: () => sessionManager.abort(),
  };
};

const createRemoteRuns = (client: DataClient, toTarget: ToTarget): DetachedRuns => ({
  async start(ref, runId, run) {
    const { argv, cwd, envVars, stdin } = run;
    const process = create(sandboxData.ProcessSchema, { argv, cwd, envVars });
    const request = { target: toTarget(ref), runId, process, stdin: stdin ?? new Uint8Array() };
    await call(client.runStart(request, UNARY));
  },
  follow: (ref, runId, from, signal) => remoteFollow(client, toTarget, ref, runId, from, signal),
  async input(ref, runId, key, chunk) {
    const body = chunk === 'eof' ? { eof: true } : { chunk };
    await call(client.runInput({ target: toTarget(ref), runId, key, ...body }, UNARY));
  },
  async kill(ref, runId, signal) {
    const request = { target: toTarget(ref), runId, signal };
    await call(client.runKill(request, UNARY));
  },
  async status(ref, runId) {
    return fromRunStatus(await call(client.runStatus({ target: toTarget(ref), runId }, UNARY)));
  },
});
