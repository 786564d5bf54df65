export { createLocalDriver, type LocalDriverOptions } from './driver.ts';
