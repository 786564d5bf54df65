export { fakeAdapter } from './fake.adapter.ts';
