import type { EnvironmentEvent } from '@hangar/contracts';
import type { RecordedEvent } from '@hangar/messaging';
import type { ViewChange } from '../views/view-change.ts';

/** A later definition keeps `created_at` of the first: the row stays, its content moves on. */
export function projectEnvironment(event: RecordedEvent): ViewChange[] {
  const { type, data } = event as unknown as EnvironmentEvent;
  const where = { owner: data.owner, name: data.name };
  switch (type) {
    case 'EnvironmentDefined': {
      const recipe = JSON.parse(data.recipe_json) as object;
      const content = { version: data.version, recipe, updated_at: event.at };
      return [
        {
          op: 'add',
          table: 'environment_view',
          row: { ...where, ...content, created_at: event.at },
        },
        { op: 'set', table: 'environment_view', where, row: content },
      ];
    }
    case 'EnvironmentDeleted':
      return [{ op: 'drop', table: 'environment_view', where }];
    default:
      return [];
  }
}
