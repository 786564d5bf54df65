import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Problem } from '@hangar/contracts';
import { call } from '../testing/http.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';
import { serveConsole } from './serve-console.ts';

const SCRIPT = 'console.log("the script");';

let stack: GatewayStack;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'hangar-console-'));
  mkdirSync(join(directory, 'dist/assets'), { recursive: true });
  writeFileSync(join(directory, 'secret.txt'), 'not for anybody');
  writeFileSync(join(directory, 'dist/assets/index-1a2b.js'), SCRIPT);
  writeFileSync(join(directory, 'dist/assets/index-1a2b.js.gz'), gzipSync(SCRIPT));
  stack = await startGatewayStack();
  await stack.stopGateway();
  await stack.start({ configure: (app) => serveConsole(app, join(directory, 'dist')) });
}, 120_000);
afterAll(async () => {
  await stack.close();
  rmSync(directory, { recursive: true });
}, 60_000);

const get = (path: string, headers: Record<string, string> = {}) =>
  call<{ text: string } & Problem>(stack, `GET ${path}`, { token: null, headers });

/** A path as it is: `fetch` would tidy it up first. */
const getRaw = (path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(stack.url);
    const asked = request({ hostname, port, path }, (answer) => {
      let text = '';
      answer.on('data', (piece) => (text += String(piece)));
      answer.on('end', () => resolve(text));
    });
    asked.on('error', reject);
    asked.end();
  });

describe('the files of the console [U5]', () => {
  it('are not there before they are built, and need no restart then', async () => {
    expect((await get('/')).status).toBe(404);
    writeFileSync(join(directory, 'dist/index.html'), '<p>the page</p>');
    expect((await get('/')).body.text).toBe('<p>the page</p>');
  });

  it.each(['/', '/sessions', '/sessions/ses-1a2b3c4d/changes?checkpoint=ckp-1', '/apiary'])(
    'the page answers %s, for it routes by itself, and may run and call nothing but its own',
    async (path) => {
      const { status, body, headers } = await get(path);
      expect({ status, text: body.text }).toEqual({ status: 200, text: '<p>the page</p>' });
      expect(headers.get('cache-control')).toBe('no-cache');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
    },
  );

  it('assets are kept for ever, and come packed to whoever takes that', async () => {
    const packed = await get('/assets/index-1a2b.js', { 'accept-encoding': 'gzip' });
    expect(packed.body.text).toBe(SCRIPT);
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(packed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(packed.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const plain = await get('/assets/index-1a2b.js', { 'accept-encoding': 'identity' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.body.text).toBe(SCRIPT);
  });

  it('an asset of an older build is not found, instead of being the page', async () => {
    expect((await get('/assets/index-0000.js')).status).toBe(404);
  });

  it.each([
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
  ])('no path leads out of their directory: %s', async (path) => {
    expect(await getRaw(path)).not.toContain('not for anybody');
  });

  it.each(['/api/nothing', '/api', '/health/nothing'])(
    'what belongs to the API stays with it: %s',
    async (path) => {
      const { status, headers } = await get(path);
      expect(status).toBe(404);
      expect(headers.get('content-type')).toContain('json');
    },
  );
});
