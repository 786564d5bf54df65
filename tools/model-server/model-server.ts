/** The library's entry: a scripted model server for tests (see src/model-server.ts). */
export { startModelServer, type ModelServer } from './src/model-server.ts';
export { type LoggedRequest } from './src/request-log.ts';
