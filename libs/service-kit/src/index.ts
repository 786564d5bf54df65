export { DRAIN_MILLIS_MAX, createService, type Service, type ServiceOptions } from './bootstrap.ts';
export { systemClock, type Clock } from './clock.ts';
export { closeOnSignal, type Closable, type CloseOptions } from './close-on-signal.ts';
export {
  describeSettings,
  logAddress,
  readConfig,
  required,
  type Config,
  type ConfigKey,
  type SettingDescription,
} from './config.ts';
export { credentialCommand, type CredentialCommand } from './credential-command.ts';
export {
  CredentialSource,
  type Credential,
  type CredentialAsker,
  type CredentialWish,
} from './credential-source.ts';
export { HANDED_MAX, HandedCredentials } from './handed-credentials.ts';
export { HangarErrorFilter, validationPipe } from './error-filter.ts';
export {
  HealthChecks,
  HealthModule,
  natsCheck,
  postgresCheck,
  type HealthCheck,
} from './health.ts';
export { createLogger, loggerModule, type LoggerOptions } from './logger.ts';
export { ACCESS_TOKEN_TABLE_SQL } from './postgres/access-token.sql.ts';
export { HANDED_CREDENTIAL_TABLE_SQL } from './postgres/handed-credential.sql.ts';
export { SECRET_TABLE_SQL } from './postgres/secret.sql.ts';
export { invalidBody, toProblem, type Problem } from './problem.ts';
export { PROVIDER_KEYS, providerKeys, providerVariables } from './provider-variables.ts';
export { createRedactor, redactShapes, type KnownSecret, type Redactor } from './redact.ts';
export { RouteSpan } from './route-span.ts';
export { openStream, sealedBytes, sealStream } from './sealing.ts';
export { SecretStore, type RevealedSecrets, type SecretDescription } from './secrets.ts';
export type { BlobStoreSetting } from './setting-kinds.ts';
export { currentTrace, flushTelemetry, tracer, withSpan } from './telemetry.ts';
export {
  TokenStore,
  allows,
  newToken,
  type NewToken,
  type Principal,
  type Scope,
  type TokenDescription,
  type TokenStoreOptions,
} from './tokens.ts';
export type { FieldIssue } from './validation-issue.ts';
export { DATA_KEY_BYTES, Vault, vaultKeyId } from './vault.ts';
