/**
 * `node tools/gen-events.ts`: writes docs/formats/events.md from the contracts in `proto/hangar/v1`.
 * `node tools/gen-events.ts --check`: fails when the page is not what the contracts say.
 */
import { eventsPage } from './docs/src/events-page.ts';
import { writePage } from './docs/src/write-page.ts';

await writePage('docs/formats/events.md', eventsPage());
