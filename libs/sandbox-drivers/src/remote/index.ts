export { DATA_HTTP2 } from './http2-settings.ts';
export { createRemoteSandboxIo, type RemoteSandboxIoOptions } from './remote-io.ts';
export type { Activity } from './route-parts.ts';
export { sandboxIoRoutes, type SandboxIoRoutesOptions } from './routes.ts';
export { createTokenCheck } from './service-token.ts';
