export { antigravityAdapter } from './antigravity.adapter.ts';
