import * as contract from '@hangar/contracts';
import type { LimitsDocument } from '@hangar/contracts';
import { SCROLLBACK_BYTES_MAX, TERMINALS_MAX, VIEWERS_MAX } from '@hangar/sandbox-drivers';

export type Limit = LimitsDocument['limits'][number];
type BuiltIn = (name: string, value: number, unit: string, does: string) => Limit;

const UNITS = { minutes: 'minutes', days: 'days', bytes: 'bytes', characters: 'characters' };

/** Bounds that nothing changes. */
export function builtInLimits(): Limit[] {
  return [ofSessions, ofRecipes, ofRequests, ofTerminals, ofWebhooks].flatMap((group) =>
    group(builtIn),
  );
}

const builtIn: BuiltIn = (name, value, unit, does) => ({
  name,
  value,
  unit,
  default: value,
  source: 'built_in',
  changed_by: null,
  does,
});

function ofSessions(of: BuiltIn): Limit[] {
  const { minutes, days, bytes, characters } = UNITS;
  return [
    of('messages_queued', contract.MESSAGES_QUEUED_MAX, 'messages', 'Waiting in one session.'),
    of('message_bytes', contract.MESSAGE_BYTES_MAX, bytes, 'Of one message.'),
    of(
      'message_comments',
      contract.COMMENTS_MAX,
      'comments',
      'On lines of changes, in one message.',
    ),
    of('title_characters', contract.TITLE_CHARACTERS_MAX, characters, 'Of a title.'),
    of('idle_minutes_max', contract.IDLE_MINUTES_MAX, minutes, 'The longest idle_minutes.'),
    of('turn_minutes_max', contract.TURN_MINUTES_MAX, minutes, 'The longest turn_minutes.'),
    of(
      'turn_grace_minutes',
      contract.TURN_GRACE_MINUTES,
      minutes,
      'A turn without a word for this long after turn_minutes is taken for lost.',
    ),
    of('clone_minutes', contract.CLONE_MINUTES_MAX, minutes, 'Of getting the repository.'),
    of('setup_minutes', contract.SETUP_MINUTES_MAX, minutes, 'Of one setup command.'),
    of(
      'checkpoint_deadline_minutes',
      contract.CHECKPOINT_DEADLINE_MINUTES,
      minutes,
      'A checkpoint that gave no word for this long is counted as missed.',
    ),
    of(
      'release_deadline_minutes',
      contract.RELEASE_DEADLINE_MINUTES,
      minutes,
      'A sandbox that did not end by then is no longer waited for.',
    ),
    of(
      'usage_limit_days',
      contract.USAGE_LIMIT_DAYS_MAX,
      days,
      "A provider's usage limit that ends later than this is told, and not waited for.",
    ),
    of('summary_bytes', contract.SUMMARY_BYTES_MAX, bytes, "Of a turn's summary."),
    of('handoff_bytes', contract.HANDOFF_BYTES_MAX, bytes, 'Of what another harness is told.'),
    of('activity_items', contract.ACTIVITY_ITEMS_MAX, 'items', 'Kept of one run.'),
    of(
      'activity_text_characters',
      contract.ACTIVITY_TEXT_CHARACTERS_MAX,
      characters,
      'Of one text, input or output in the activity.',
    ),
    of('answer_characters', contract.ANSWER_CHARACTERS_MAX, characters, 'Of one answer.'),
    of('permission_rules', contract.PERMISSION_RULES_MAX, 'rules', 'Of one session.'),
    of(
      'permission_pattern_characters',
      contract.PERMISSION_PATTERN_CHARACTERS_MAX,
      characters,
      'Of the tool or the pattern of a rule.',
    ),
    of(
      'take_back_seconds',
      contract.TAKE_BACK_SECONDS_MAX,
      'seconds',
      'A take-back waits so long for the harness to say who has the message.',
    ),
  ];
}

function ofRequests(of: BuiltIn): Limit[] {
  const { days, bytes, characters } = UNITS;
  return [
    of('body_bytes', contract.BODY_BYTES_MAX, bytes, 'Of the body of a request.'),
    of('secret_bytes', contract.SECRET_BYTES_MAX, bytes, 'Of the value of a secret.'),
    of('secrets', contract.SECRETS_PER_OWNER_MAX, 'secrets', 'Of one owner.'),
    of('tokens', contract.TOKENS_PER_OWNER_MAX, 'tokens', 'Of one owner.'),
    of('wait_seconds', contract.WAIT_SECONDS_MAX, 'seconds', 'The longest ?wait.'),
    of('page_size', contract.PAGE_SIZE_MAX, 'items', 'On one page of a list.'),
    of('event_streams', contract.EVENT_STREAMS_MAX, 'streams', 'Open at once at one gateway.'),
    of('exec_seconds', contract.EXEC_SECONDS_MAX, 'seconds', 'The longest exec.'),
    of('exec_arguments', contract.EXEC_ARGUMENTS_MAX, 'arguments', 'Of one exec.'),
    of(
      'exec_argument_characters',
      contract.EXEC_ARGUMENT_CHARACTERS_MAX,
      characters,
      'Of one argument of an exec.',
    ),
    of('exec_output_bytes', contract.EXEC_OUTPUT_BYTES_MAX, bytes, 'Each of stdout and stderr.'),
    of('exec_stdin_bytes', contract.EXEC_STDIN_BYTES_MAX, bytes, 'Input of an exec.'),
    of('exec_body_bytes', contract.EXEC_BODY_BYTES_MAX, bytes, 'Of the body of an exec.'),
    of('idempotency_key_days', contract.IDEMPOTENCY_KEY_DAYS, days, 'Keys are remembered.'),
    of(
      'idempotency_key_characters',
      contract.IDEMPOTENCY_KEY_CHARACTERS_MAX,
      characters,
      'Of an Idempotency-Key.',
    ),
  ];
}

function ofRecipes(of: BuiltIn): Limit[] {
  const { characters } = UNITS;
  return [
    of('setup_commands', contract.SETUP_COMMANDS_MAX, 'commands', 'Of one environment.'),
    of(
      'setup_command_characters',
      contract.SETUP_COMMAND_CHARACTERS_MAX,
      characters,
      'Of one setup command.',
    ),
    of('env_vars', contract.ENV_VARS_MAX, 'variables', 'Of one environment.'),
    of('env_var_characters', contract.ENV_VAR_CHARACTERS_MAX, characters, 'Of one variable.'),
    of('mounts', contract.MOUNTS_MAX, 'mounts', 'Of one environment.'),
    of(
      'environment_secrets',
      contract.ENVIRONMENT_SECRETS_MAX,
      'secrets',
      'Named by one environment.',
    ),
    of('git_credentials', contract.GIT_CREDENTIALS_MAX, 'credentials', 'Of one environment.'),
  ];
}

function ofTerminals(of: BuiltIn): Limit[] {
  const { bytes } = UNITS;
  return [
    of('terminals', TERMINALS_MAX, 'terminals', 'Of one sandbox; one that has ended makes room.'),
    of('terminal_viewers', VIEWERS_MAX, 'viewers', 'Of one terminal at once.'),
    of('terminal_sockets', contract.TERMINAL_SOCKETS_MAX, 'viewers', 'At once at one gateway.'),
    of('terminal_size', contract.TERMINAL_SIZE_MAX, 'characters', 'Columns, and rows.'),
    of('terminal_scrollback_bytes', SCROLLBACK_BYTES_MAX, bytes, 'Kept, the newest.'),
    of('terminal_message_bytes', contract.TERMINAL_MESSAGE_BYTES_MAX, bytes, 'Of one frame.'),
    of(
      'terminal_unacked_bytes',
      contract.TERMINAL_UNACKED_BYTES_MAX,
      bytes,
      'Sent to a viewer that did not acknowledge them; more waits.',
    ),
  ];
}

function ofWebhooks(of: BuiltIn): Limit[] {
  const { days, characters } = UNITS;
  return [
    of('webhooks', contract.WEBHOOKS_PER_OWNER_MAX, 'webhooks', 'Of one owner.'),
    of('webhook_url_characters', contract.WEBHOOK_URL_CHARACTERS_MAX, characters, 'Of its URL.'),
    of('webhook_text_characters', contract.WEBHOOK_TEXT_CHARACTERS_MAX, characters, 'Of a text.'),
    of('webhook_waiting', contract.WEBHOOK_WAITING_MAX, 'deliveries', 'Waiting for one webhook.'),
    of('webhook_dead', contract.WEBHOOK_DEAD_KEPT_MAX, 'deliveries', 'Kept, the newest.'),
    of('webhook_delivered', contract.WEBHOOK_DELIVERED_KEPT_MAX, 'deliveries', 'Kept, the newest.'),
    of('webhook_shown', contract.WEBHOOK_DELIVERIES_SHOWN_MAX, 'deliveries', 'Shown, the newest.'),
    of('webhook_delivery_days', contract.WEBHOOK_DELIVERY_DAYS, days, 'Deliveries are kept.'),
  ];
}
