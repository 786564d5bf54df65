export { given, type Decider, type DeciderSpecification } from './decider.ts';
export { eventually } from './eventually.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { seededRandom } from './random.ts';
export { createTestDatabase, type TestDatabase } from './test-postgres.ts';
export {
  startTestNats,
  startTestStack,
  type TestNats,
  type TestStack,
  type TestStackOptions,
} from './test-stack.ts';
