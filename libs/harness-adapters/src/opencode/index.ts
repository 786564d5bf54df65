export { opencodeAdapter } from './opencode.adapter.ts';
