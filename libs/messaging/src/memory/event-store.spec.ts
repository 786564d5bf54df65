import { describeEventStore } from '../testing/event-store.suite.ts';
import { sampleValidate } from '../testing/sample.ts';
import { createMemoryLog } from './memory-log.ts';

describeEventStore('memory', () =>
  Promise.resolve(createMemoryLog().store({ owns: ['session', 'run'], validate: sampleValidate })),
);
