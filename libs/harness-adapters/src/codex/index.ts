export { codexAdapter } from './codex.adapter.ts';
