import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';

/** Paths of the API: never answered with the console's page. */
const TAKEN = /^\/(api|health|mcp|metrics)(\/|$)/i;

/**
 * The page may load and call nothing but its own server. Styles are set from scripts by the
 * components and the diff view, which is what `unsafe-inline` allows; scripts are files only.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const PAGE = '/index.html';
/** What the build makes, and nothing that leads out of its directory. */
const FILE = /^\/(assets\/)?\w[\w.-]*$/;

/**
 * Serves the built console from a directory: its files, and its page for every address that is not
 * the API's, for the page routes by itself. Where it was not built, nothing is served.
 */
export function serveConsole(app: NestExpressApplication, directory: string): void {
  const has = (path: string): boolean => FILE.test(path) && existsSync(join(directory, path));
  app.use((request: Request, response: Response, next: NextFunction) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || TAKEN.test(request.path) || !has(PAGE)) return next();
    const isAsset = request.path.startsWith('/assets/');
    // A file that is not there any more is no page: an old page would wait for it in vain.
    if (isAsset && !has(request.path)) return void response.status(404).end();
    const path = has(request.path) ? request.path : PAGE;
    const isPacked = has(`${path}.gz`) && request.acceptsEncodings('gzip') === 'gzip';
    response.set({
      'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
      // Assets have the hash of their content in their name; the page names those of today.
      'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
      'Content-Security-Policy': POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept-Encoding',
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
    });
    response.send(readFileSync(join(directory, isPacked ? `${path}.gz` : path)));
  });
}
