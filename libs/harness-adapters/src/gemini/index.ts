export { geminiAdapter } from './gemini.adapter.ts';
