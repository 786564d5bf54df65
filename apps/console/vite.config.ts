import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** A hangar to develop against: `vite` serves the source and hands its API on. */
const server = process.env['HANGAR_URL'] ?? 'http://127.0.0.1:7700';

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['@hangar/source', 'module', 'browser', 'development|production'] },
  server: { port: 7701, proxy: { '/api': { target: server, ws: true } } },
  // Grammars of the diff view are chunks of their own, each loaded when a file needs it.
  build: { target: 'es2024', chunkSizeWarningLimit: 1500, modulePreload: { polyfill: false } },
});
