import type { DescMessage, Message } from '@bufbuild/protobuf';
import { fromJson } from '@bufbuild/protobuf';
import { HangarError } from './errors.ts';

/** `runId` -> `run_id`: the names that proto fields have on the wire. */
type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Lowercase<Head>}${Snake<Tail>}`
    : `${Lowercase<Head>}_${Snake<Tail>}`
  : S;

type Value<T> =
  T extends Message<string> ? Wire<T> : T extends readonly (infer Item)[] ? Value<Item>[] : T;

type Fields<M> = Exclude<keyof M, '$typeName' | '$unknown'>;

/**
 * Messages that are `optional` in the contract. The generated types cannot tell: every message
 * field has presence there; `requirePresent` asks the descriptor.
 */
type OptionalMessage = 'asked' | 'answered' | 'permissions';

/** Fields without a value may be left out only where the contract says `optional`. */
type Optional<M> = {
  [K in Fields<M>]-?: undefined extends M[K]
    ? NonNullable<M[K]> extends Message<string>
      ? K & OptionalMessage
      : K
    : never;
}[Fields<M>];

/**
 * The JSON form of a proto message, exactly as it is in the log, on the bus and in SSE:
 * snake_case names, every field present unless it is `optional`.
 */
export type Wire<M> = {
  [K in Exclude<Fields<M>, Optional<M>> as Snake<K & string>]: Value<NonNullable<M[K]>>;
} & { [K in Optional<M> & keyof M as Snake<K & string>]?: Value<NonNullable<M[K]>> };

/**
 * Refuses what the contract does not describe: unknown fields, wrong types, and fields left out
 * that are not `optional` (proto's own JSON parser would take a missing field for a default).
 */
export function validateWire(schema: DescMessage, json: unknown): void {
  try {
    fromJson(schema, json as never, { ignoreUnknownFields: false });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new HangarError('internal', `${schema.name} breaks its contract: ${message}`, { cause });
  }
  requirePresent(schema, json as Record<string, unknown>, schema.name);
}

function requirePresent(schema: DescMessage, json: Record<string, unknown>, path: string): void {
  for (const field of schema.fields) {
    const value = json[field.name];
    const optional = field.proto.proto3Optional;
    if (value === undefined) {
      if (optional) continue;
      throw new HangarError('internal', `${path}.${field.name} is missing from the event`);
    }
    if (field.fieldKind === 'message') {
      requirePresent(field.message, value as Record<string, unknown>, `${path}.${field.name}`);
    } else if (field.fieldKind === 'list' && field.listKind === 'message') {
      for (const item of value as Record<string, unknown>[])
        requirePresent(field.message, item, `${path}.${field.name}`);
    }
  }
}
