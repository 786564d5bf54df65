import { HangarError } from '@hangar/contracts';
import type { FoldEvent } from './event.ts';
import type { JsonObject } from './json.ts';

/** Brings an event to the shape that this code knows; throws `unavailable` if it cannot. */
export type Upcast = <Event extends FoldEvent>(event: Event) => Event;

/** For logs whose shapes never changed. */
export const asItIs: Upcast = (event) => event;

/** One type: its current schema and the pure steps, step n makes schema n + 1 of schema n. */
export interface EventShape {
  schema: number;
  steps?: Record<number, (data: JsonObject) => JsonObject>;
}

/**
 * A schema newer than this code fails closed: an old replica answers 503 while newer ones are
 * rolled out. So does an unknown type, for owners; subscribers say `pass` and ignore it.
 */
export function createUpcast(
  shapes: Partial<Record<string, EventShape>>,
  unknownTypes: 'refuse' | 'pass' = 'refuse',
): Upcast {
  return (event) => {
    const shape = shapes[event.type];
    if (shape === undefined && unknownTypes === 'pass') return event;
    if (shape === undefined || event.schema > shape.schema) {
      const what = `event ${event.type} (schema ${event.schema})`;
      throw new HangarError(
        'unavailable',
        `${what} of ${event.stream} is newer than this program`,
        {
          hint: 'Wait until the roll-out is complete, then try again.',
        },
      );
    }
    let { data } = event;
    for (let schema = event.schema; schema < shape.schema; schema += 1) {
      const step = shape.steps?.[schema];
      if (!step) throw new HangarError('internal', `no step from ${event.type} schema ${schema}`);
      data = step(data);
    }
    return event.schema === shape.schema ? event : { ...event, schema: shape.schema, data };
  };
}
