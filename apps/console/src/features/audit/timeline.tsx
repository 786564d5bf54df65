import type { EventDocument } from '@hangar/contracts';
import { actorText, eventText } from '../../lib/event-words.ts';
import { exact } from '../../lib/time.ts';
import styles from './audit.module.css';

interface TimelineProps {
  /** Newest first. */
  events: EventDocument[];
  chosen: string | null;
  onChoose(event: EventDocument): void;
}

const dayOf = (time: string): string =>
  new Date(time).toLocaleDateString(undefined, { dateStyle: 'full' });
const clockOf = (time: string): string => new Date(time).toLocaleTimeString();

export const Timeline = ({ events, chosen, onChoose }: TimelineProps) => (
  <ol className={styles.events} aria-label="Events, the newest first">
    {events.map((event, index) => {
      const day = dayOf(event.at);
      const isNewDay = index === 0 || dayOf(events[index - 1]?.at ?? '') !== day;
      return (
        <li key={event.id}>
          {isNewDay && <div className={styles.day}>{day}</div>}
          <button
            type="button"
            className={styles.event}
            aria-current={event.id === chosen}
            onClick={() => onChoose(event)}
          >
            <time dateTime={event.at} title={exact(event.at)} className={styles.dim}>
              {clockOf(event.at)}
            </time>
            <span>
              {eventText(event.type)}
              <span className={styles.dim}> {partOf(event)}</span>
            </span>
            <span className={styles.dim}>{actorText(event.actor)}</span>
          </button>
        </li>
      );
    })}
  </ol>
);

/** Which run, sandbox or checkpoint it is about, where it is not the session itself. */
const partOf = ({ stream }: EventDocument): string =>
  stream.startsWith('session/') ? '' : stream.slice(stream.indexOf('/') + 1);
