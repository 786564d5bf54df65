import type { RecordedEvent } from '@hangar/messaging';
import { projectEnvironment } from '../environments/environment.projection.ts';
import { projectSession } from '../sessions/session.projection.ts';
import type { ViewChange } from './view-change.ts';

/** Events of aggregates without a read model change nothing; neither do types not known here. */
export function project(event: RecordedEvent): ViewChange[] {
  switch (event.aggregate) {
    case 'session':
      return projectSession(event);
    case 'environment':
      return projectEnvironment(event);
    default:
      return [];
  }
}
