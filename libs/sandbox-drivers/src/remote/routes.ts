import { create } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { SandboxIo, SandboxRef } from '../sandbox-driver.ts';
import type { Activity, Observe } from './route-parts.ts';
import { serveExec, serveRunFollow } from './routes-output.ts';
import { serveGetFile, servePutFile } from './routes-files.ts';
import { serveTerminal } from './routes-terminals.ts';
import { requireToken } from './service-token.ts';
import {
  fromProcess,
  fromSignal,
  fromSize,
  fromTarget,
  toConnectError,
  toRunStatus,
  toStat,
  toTerminal,
} from './wire-values.ts';

/** A message: the largest input of a run and what is around it. */
const MESSAGE_BYTES_MAX = 20 * 1024 * 1024;

export interface SandboxIoRoutesOptions {
  /** Whether a bearer token may use the data plane; see `createTokenCheck`. */
  authorize: (token: string) => boolean;
  /**
   * Awaited before the operation begins: what it throws refuses it, so that a decision to suspend
   * and an activity exclude each other. The end of one that was refused is not told.
   */
  onActivity?: (activity: Activity) => Promise<void> | void;
}

type Service = ServiceImpl<typeof sandboxData.SandboxDataService>;

/** Serves a data plane on a Connect router, for `createRemoteSandboxIo` at the other end. */
export const sandboxIoRoutes = (
  io: SandboxIo,
  options: SandboxIoRoutesOptions,
): ((router: ConnectRouter) => void) => {
  const observe: Observe = async (target, operation) => {
    const ref = fromTarget(target);
    const { onActivity } = options;
    if (target?.quiet === true || !onActivity) return { ref, ended: () => undefined };
    await onActivity({ ref, operation, phase: 'began' });
    return { ref, ended: () => void tellEnd(onActivity, { ref, operation, phase: 'ended' }) };
  };
  const service: Service = {
    exec: (requests, context) => guard(serveExec(io, observe, requests, context)),
    terminalAttach: (requests, context) => guard(serveTerminal(io, observe, requests, context)),
    runFollow: (requests, context) => guard(serveRunFollow(io, observe, requests, context)),
    getFile: (request, context) => guard(serveGetFile(io, observe, request, context)),
    putFile: (requests, context) => safely(() => servePutFile(io, observe, requests, context)),
    ...unaryRoutes(io, observe),
  };
  return (router) => {
    router.service(sandboxData.SandboxDataService, service, {
      interceptors: [requireToken(options.authorize)],
      readMaxBytes: MESSAGE_BYTES_MAX,
    });
  };
};

/** There is nothing left to refuse at an end. */
const tellEnd = async (
  onActivity: (activity: Activity) => Promise<void> | void,
  activity: Activity,
): Promise<void> => {
  try {
    await onActivity(activity);
  } catch {
    return;
  }
};

/** One answer each; a failure keeps the code of its HangarError. */
const unaryRoutes = (
  io: SandboxIo,
  observe: Observe,
): Omit<Service, 'exec' | 'terminalAttach' | 'runFollow' | 'getFile' | 'putFile'> => {
  const unary =
    <Request extends { target?: sandboxData.Target | undefined }, Response>(
      operation: Activity['operation'],
      answer: (ref: SandboxRef, request: Request) => Promise<Response>,
    ) =>
    (request: Request, _context: HandlerContext): Promise<Response> =>
      safely(async () => {
        const { ref, ended } = await observe(request.target, operation);
        try {
          return await answer(ref, request);
        } finally {
          ended();
        }
      });
  return {
    runStart: unary('runs', async (ref, request: sandboxData.RunStartRequest) => {
      const { argv, cwd, envVars } = fromProcess(request.process);
      if (cwd === undefined) throw new HangarError('invalid', 'A run needs a directory.');
      await io.runs.start(ref, request.runId, { argv, cwd, envVars, stdin: request.stdin });
      return create(sandboxData.RunStartResponseSchema);
    }),
    runInput: unary('runs', async (ref, request: sandboxData.RunInputRequest) => {
      const chunk = request.eof ? 'eof' : request.chunk;
      await io.runs.input(ref, request.runId, request.key, chunk);
      return create(sandboxData.RunInputResponseSchema);
    }),
    runKill: unary('runs', async (ref, request: sandboxData.RunKillRequest) => {
      await io.runs.kill(ref, request.runId, fromSignal(request.signal));
      return create(sandboxData.RunKillResponseSchema);
    }),
    runStatus: unary('runs', async (ref, request: sandboxData.RunStatusRequest) =>
      create(
        sandboxData.RunStatusResponseSchema,
        toRunStatus(await io.runs.status(ref, request.runId)),
      ),
    ),
    terminalOpen: unary('runs', async (ref, request: sandboxData.TerminalOpenRequest) => {
      const terminal = { ...fromProcess(request.process), ...fromSize(request.size) };
      await io.terminals.open(ref, request.terminalId, terminal);
      return create(sandboxData.TerminalOpenResponseSchema);
    }),
    // Looking is not an activity: a list that somebody keeps on a screen keeps nothing awake.
    terminalList: (request: sandboxData.TerminalListRequest) =>
      safely(async () => {
        const terminals = await io.terminals.list(fromTarget(request.target));
        return create(sandboxData.TerminalListResponseSchema, {
          terminals: terminals.map(toTerminal),
        });
      }),
    terminalClose: unary('runs', async (ref, request: sandboxData.TerminalCloseRequest) => {
      await io.terminals.close(ref, request.terminalId);
      return create(sandboxData.TerminalCloseResponseSchema);
    }),
    statFile: unary('files', async (ref, request: sandboxData.StatFileRequest) =>
      create(sandboxData.StatFileResponseSchema, toStat(await io.files.stat(ref, request.path))),
    ),
    removeFile: unary('files', async (ref, request: sandboxData.RemoveFileRequest) => {
      await io.files.remove(ref, request.path);
      return create(sandboxData.RemoveFileResponseSchema);
    }),
  };
};

const safely = async <T>(answer: () => Promise<T>): Promise<T> => {
  try {
    return await answer();
  } catch (error) {
    throw toConnectError(error);
  }
};

async function* guard<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error);
  }
}
