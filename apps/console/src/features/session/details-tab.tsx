import { DetailsPanel } from './details-panel.tsx';
import styles from './rows.module.css';

/** What stands beside the page where there is room for it. */
export const DetailsTab = () => (
  <div
    className={styles.scroller}
    role="region"
    aria-label="Details"
    tabIndex={0}
    style={{ padding: 'var(--mantine-spacing-md)', maxWidth: 560 }}
  >
    <DetailsPanel />
  </div>
);
