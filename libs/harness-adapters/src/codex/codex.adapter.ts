/** Codex: one `codex app-server` process (the native program) per turn, on stdio. */
import type {
  HarnessAdapter,
  HarnessCommand,
  TalkCommand,
  TalkSpec,
  TurnSpec,
} from '../harness-adapter.ts';
import { modelRetries } from '../model-retries.ts';
import { harnessProgram } from '../versions.ts';
import { checkCodex } from './codex.conversation.ts';
import { CodexProtocol } from './codex.protocol.ts';

const KEY = 'OPENAI_API_KEY';
const KEY_REFRESH_MILLISECONDS = 300_000;
/** As long as hangar may take to answer; by itself Codex waits 5 s. */
const KEY_WAIT_MILLISECONDS = 60_000;
const OPENAI_URL = 'https://api.openai.com/v1';

export const codexAdapter: HarnessAdapter = {
  name: 'codex',
  capabilities: {
    choosesId: false,
    resume: true,
    fork: false,
    steer: true,
    withdraw: true,
    approvals: true,
    questions: true,
    interrupt: true,
    cost: false,
    talk: true,
    talkAsks: true,
  },
  conversationDirectories: ['.codex/sessions'],
  command,
  talk,
  protocol: (turn) => new CodexProtocol(turn),
  check: checkCodex,
  terminalHint: (conversationId) => `codex resume ${conversationId} --no-daemon`,
};

function command(turn: TurnSpec): HarnessCommand {
  const envVars = withoutKey(turn);
  return {
    argv: [harnessProgram('codex', turn.harnessRoot), 'app-server'],
    // Codex says when a usage limit ends in its local time, so that time is made UTC.
    envVars: { TZ: 'UTC', ...envVars },
    files: [{ path: '.codex/config.toml', content: configuration(turn), mode: 0o600 }],
  };
}

/** What is asked for by a command is in no variable. */
function withoutKey({ envVars, keyCommands }: TalkSpec | TurnSpec): Record<string, string> {
  const { [KEY]: _key, ...others } = envVars;
  return keyCommands[KEY] === undefined ? envVars : others;
}

function talk(talk: TalkSpec): TalkCommand {
  return {
    argv: [
      harnessProgram('codex', talk.harnessRoot),
      'resume',
      talk.conversationId,
      ...(talk.asksLeave ? [] : ['--dangerously-bypass-approvals-and-sandbox']),
      // Otherwise it starts a process of its own that outlives the terminal.
      '--no-daemon',
    ],
    envVars: withoutKey(talk),
    files: [
      {
        path: '.codex/config.toml',
        content: `${configuration(talk)}${noDialogs(talk)}`,
        mode: 0o600,
      },
    ],
    settings: [],
  };
}

/** What it would ask or announce before the conversation is there; some of it would change the model. */
const noDialogs = ({ model }: TalkSpec): string =>
  [
    '[tui]',
    'screen_reader_detection_done = true',
    '[tui.model_availability_nux]',
    `${quoted(NEWEST_MODEL)} = 4`,
    '[notice]',
    'hide_full_access_warning = true',
    ...(model === null
      ? []
      : ['[notice.model_migrations]', `${quoted(model)} = ${quoted(NEWEST_MODEL)}`]),
    '',
  ].join('\n');

/** The one that the CLI of this version would have people try. */
const NEWEST_MODEL = 'gpt-6-sol';

/**
 * The app server reads no key from the environment by itself: a provider names the variable, or the
 * command that prints the key.
 * Its own `openai` provider tries web sockets first, which an HTTP broker cannot serve.
 */
function configuration(turn: TurnSpec | TalkSpec): string {
  const retries = modelRetries(turn);
  const keyCommand = turn.keyCommands[KEY];
  const baseUrl = turn.envVars['OPENAI_BASE_URL'] ?? OPENAI_URL;
  return [
    'model_provider = "hangar"',
    'check_for_update_on_startup = false',
    'suppress_unstable_features_warning = true',
    ...(turn.model === null ? [] : [`model = ${quoted(turn.model)}`]),
    '[analytics]',
    'enabled = false',
    '[features]',
    'plugins = false',
    'daemon_auto_start = false',
    // It would write the variables of the run into a file below HOME, keys and secrets with them.
    'shell_snapshot = false',
    // The agent's question tool, which is otherwise there in plan mode only.
    'default_mode_request_user_input = true',
    // Otherwise an unreachable provider is waited for without end.
    'unbounded_connection_retries = false',
    '[model_providers.hangar]',
    'name = "hangar"',
    `base_url = ${quoted(baseUrl)}`,
    'wire_api = "responses"',
    ...(keyCommand === undefined ? [`env_key = ${quoted(KEY)}`] : []),
    // These repeats would be silent, and multiply with the others.
    'request_max_retries = 0',
    `stream_max_retries = ${retries}`,
    // Run again when the key is refused, and when it is this old.
    ...(keyCommand === undefined
      ? []
      : [
          '[model_providers.hangar.auth]',
          'command = "sh"',
          `args = ["-c", ${quoted(keyCommand)}]`,
          `timeout_ms = ${KEY_WAIT_MILLISECONDS}`,
          `refresh_interval_ms = ${KEY_REFRESH_MILLISECONDS}`,
        ]),
    `[projects.${quoted(turn.cwd)}]`,
    'trust_level = "trusted"',
    '',
  ].join('\n');
}

/** A JSON string is also a basic string of TOML. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
