/**
 * Random ids are a prefix and 8 hex digits ([S1]). Sandboxes, checkpoints and runs are made by a
 * session one after the other, and their ids say so: `run-1a2b3c4d-7` is the run of turn 7 of
 * `ses-1a2b3c4d`. They cannot collide while session ids do not, and the same cause always gives
 * the same id, so that a second start is recognised and dropped (ADR 0011).
 */
export type RandomIdPrefix = 'ses' | 'msg' | 'card' | 'tok' | 'job' | 'trm';
export type SessionPartPrefix = 'sbx' | 'ckp' | 'run' | 'trm';

export const SESSION_ID_PATTERN = /^ses-[0-9a-f]{8}$/;
export const SESSION_PART_ID_PATTERN = /^(sbx|ckp|run|trm)-[0-9a-f]{8}-[1-9][0-9]{0,8}$/;
export const MESSAGE_ID_PATTERN = /^msg-[0-9a-f]{8}$/;

/** The id of the `number`th (from 1) sandbox, checkpoint or run of a session. */
export const sessionPartId = (
  prefix: SessionPartPrefix,
  sessionId: string,
  number: number,
): string => `${prefix}-${sessionId.slice('ses-'.length)}-${number}`;

/** The session that made a sandbox, checkpoint or run. */
export const sessionOfPart = (partId: string): string => `ses-${partId.split('-')[1]}`;
