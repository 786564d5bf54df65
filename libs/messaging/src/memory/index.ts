export { createMemoryActivityLog } from './activity-log.ts';
export {
  createMemoryLog,
  type Delivery,
  type DeliveryFault,
  type MemoryConsumer,
  type MemoryLog,
} from './memory-log.ts';
export type { MemoryEffect, MemoryTimer } from './memory-state.ts';
