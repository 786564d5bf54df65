/** Every bound a person or a program can run into, with its unit. */
export const MESSAGES_QUEUED_MAX = 32;
/** The log carries 512 KiB per event, and a turn carries the message with notes and a handoff. */
export const MESSAGE_BYTES_MAX = 256 * 1024;
export const SUMMARY_BYTES_MAX = 8 * 1024;
export const HANDOFF_BYTES_MAX = 48 * 1024;
export const IDLE_MINUTES_DEFAULT = 30;
export const IDLE_MINUTES_MAX = 14 * 24 * 60;
export const TURN_MINUTES_DEFAULT = 60;
export const TURN_MINUTES_MAX = 24 * 60;
export const CHECKPOINTS_KEPT_DEFAULT = 5;
export const START_DEADLINE_MINUTES_DEFAULT = 15;
export const CHECKPOINT_MINUTES_DEFAULT = 10;
/** A checkpoint that gave no word for this long is counted as missed. */
export const CHECKPOINT_DEADLINE_MINUTES = 15;
/** A sandbox that did not say for this long that it is gone is no longer waited for. */
export const RELEASE_DEADLINE_MINUTES = 15;
/** Of getting the repository into a sandbox. */
export const CLONE_MINUTES_MAX = 10;
/** Of one setup command. */
export const SETUP_MINUTES_MAX = 10;
/** Beyond a turn's own time limit: then the run is taken for lost, whatever became of it. */
export const TURN_GRACE_MINUTES = 15;
export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 200;
export const WAIT_SECONDS_MAX = 600;
/** Streams of events held open at once by one gateway. */
export const EVENT_STREAMS_MAX = 500;
/** Items of one process of a harness; a turn that says more is cut in its activity, never in its work. */
export const ACTIVITY_ITEMS_MAX = 20_000;
/** Of one text, output or input in the activity. */
export const ACTIVITY_TEXT_CHARACTERS_MAX = 16_000;
export const EXEC_SECONDS_DEFAULT = 60;
export const EXEC_SECONDS_MAX = 600;
export const EXEC_OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
export const EXEC_STDIN_BYTES_MAX = 4 * 1024 * 1024;
export const EXEC_ARGUMENTS_MAX = 1024;
/** What Linux takes as one argument. */
export const EXEC_ARGUMENT_CHARACTERS_MAX = 131_072;
/** Of a request's body: instructions and messages are text; secrets have a smaller bound of their own. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** A kernel hands 128 KiB to a process in one variable; half of it is left to hangar's own. */
export const SECRET_BYTES_MAX = 64 * 1024;
export const SECRETS_PER_OWNER_MAX = 256;
export const TOKENS_PER_OWNER_MAX = 100;
export const TITLE_CHARACTERS_MAX = 200;
export const IDEMPOTENCY_KEY_CHARACTERS_MAX = 200;
export const IDEMPOTENCY_KEY_DAYS = 7;
/** Of an exec's body: stdin as base64 or escaped JSON is larger than its bytes. */
export const EXEC_BODY_BYTES_MAX = 8 * 1024 * 1024;
/** Of one answer to a card, and of a reason. */
export const ANSWER_CHARACTERS_MAX = 16_000;
export const PERMISSION_RULES_MAX = 100;
export const PERMISSION_PATTERN_CHARACTERS_MAX = 500;
/** Comments on lines of changes in one message. */
export const COMMENTS_MAX = 100;
/** How long a take-back waits for the harness to say who has the message. */
export const TAKE_BACK_SECONDS_MAX = 10;
export const WEBHOOKS_PER_OWNER_MAX = 20;
export const WEBHOOK_URL_CHARACTERS_MAX = 2000;
/** Deliveries of one webhook that wait for their first or next try; what comes above is dead. */
export const WEBHOOK_WAITING_MAX = 1000;
/** Of one webhook, the newest: dead ones can be sent again, delivered ones are for looking. */
export const WEBHOOK_DEAD_KEPT_MAX = 500;
export const WEBHOOK_DELIVERED_KEPT_MAX = 100;
export const WEBHOOK_DELIVERY_DAYS = 30;
/** Deliveries in the answer for one webhook, the newest. */
export const WEBHOOK_DELIVERIES_SHOWN_MAX = 50;
/** Of a text in what is sent; a summary, a question. */
export const WEBHOOK_TEXT_CHARACTERS_MAX = 4000;
/** A provider's usage limit that ends later than this is told, and not waited for. */
export const USAGE_LIMIT_DAYS_MAX = 8;
/** Viewers of terminals at once at one gateway. */
export const TERMINAL_SOCKETS_MAX = 1000;
/** Columns and rows of a terminal. */
export const TERMINAL_SIZE_MAX = 1000;
/** Sent to a viewer of a terminal and not acknowledged yet; more waits. */
export const TERMINAL_UNACKED_BYTES_MAX = 256 * 1024;
/** Of one message that a viewer sends. */
export const TERMINAL_MESSAGE_BYTES_MAX = 64 * 1024;
