export { HTTP_STATUS, HangarError, type ErrorCode, type ErrorJson } from './errors.ts';
export { ID_PATTERN, deriveId, deriveUuid, newId, type IdPrefix } from './ids.ts';
