import {
  JetStreamApiError,
  JetStreamApiCodes,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { EVENT_STREAM, EVENT_SUBJECTS } from './subjects.ts';

export interface EventStreamOptions {
  stream?: string;
  /** 1 on one machine, 3 in a cluster. */
  replicas?: number;
  /** Length of the copy on the bus; the log in Postgres keeps everything. */
  retainedDays?: number;
  bytesMax?: number;
  duplicateWindowMs?: number;
}

export const RETAINED_DAYS = 14;
const BYTES_MAX = 2 * 1024 ** 3;
const DUPLICATE_WINDOW_MS = 120_000;
const DAY_MS = 86_400_000;

type EventStreamConfig = Partial<StreamConfig> & { name: string };

export function eventStreamConfig(options: EventStreamOptions): EventStreamConfig {
  return {
    name: options.stream ?? EVENT_STREAM,
    subjects: [EVENT_SUBJECTS],
    storage: 'file',
    retention: 'limits',
    discard: 'old',
    max_age: nanos((options.retainedDays ?? RETAINED_DAYS) * DAY_MS),
    max_bytes: options.bytesMax ?? BYTES_MAX,
    duplicate_window: nanos(options.duplicateWindowMs ?? DUPLICATE_WINDOW_MS),
    deny_delete: true,
    allow_direct: true,
    num_replicas: options.replicas ?? 1,
  };
}

/** Undefined when the server does not have it; any other failure is thrown. */
export async function findStream(
  manager: JetStreamManager,
  stream: string,
): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(stream);
  } catch (error) {
    if (isApiError(error, JetStreamApiCodes.StreamNotFound)) return undefined;
    throw error;
  }
}

export const isApiError = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;

/** Deletes what there is and makes the stream new and empty. */
export async function recreateStream(
  manager: JetStreamManager,
  config: EventStreamConfig,
): Promise<StreamInfo> {
  if (await findStream(manager, config.name)) await manager.streams.delete(config.name);
  return manager.streams.add(config);
}
