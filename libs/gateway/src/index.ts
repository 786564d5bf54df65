export type { CheckpointExport } from './checkpoints/sandbox-calls.service.ts';
export type { GatewayDependencies } from './gateway.parts.ts';
export type { GatewaySettings } from './settings.ts';
export { startGateway, type GatewayOptions } from './start-gateway.ts';
export { rebuildViews, type ViewProjectorOptions } from './views/view-projector.ts';
export { serveConsole } from './console/serve-console.ts';
