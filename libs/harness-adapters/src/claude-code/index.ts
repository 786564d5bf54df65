export { claudeCodeAdapter } from './claude-code.adapter.ts';
