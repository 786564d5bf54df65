import { describeActivityLog } from '../testing/activity-log.suite.ts';
import { createMemoryActivityLog } from './activity-log.ts';

describeActivityLog('memory', () => Promise.resolve(createMemoryActivityLog()));
