export {
  CONVERSATION_BYTES_MAX,
  type Answer,
  type Ask,
  type AskedQuestion,
  type ConversationCheck,
  type ConversationFiles,
  type HarnessAdapter,
  type HarnessCapabilities,
  type HarnessCommand,
  type HarnessEvent,
  type HarnessName,
  type ProtocolInput,
  type ProtocolStep,
  type TalkCommand,
  type TalkSpec,
  type TurnErrorKind,
  type TurnProtocol,
  type TurnResult,
  type TurnSpec,
  type Usage,
} from './harness-adapter.ts';
export { installHarness, isHarnessInstalled } from './install.ts';
export { MODEL_RETRIES_VARIABLE } from './model-retries.ts';
export { HARNESS_NAMES, harnessAdapter, isHarnessName } from './registry.ts';
export { settingsText } from './settings-text.ts';
export { harnessDirectory, harnessPackage, type HarnessPackage } from './versions.ts';
