/**
 * `node tools/gen-settings.ts`: writes docs/settings.md from the table of settings in service-kit.
 * `node tools/gen-settings.ts --check`: fails when the page is not what the table says.
 */
import { settingsPage } from './docs/src/settings-page.ts';
import { writePage } from './docs/src/write-page.ts';

await writePage('docs/settings.md', settingsPage());
