export { piAdapter } from './pi.adapter.ts';
