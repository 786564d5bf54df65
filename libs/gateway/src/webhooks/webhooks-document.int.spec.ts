import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newWebhookSecret, signWebhook } from './signature.ts';

const DOCUMENT = fileURLToPath(new URL('../../../../docs/formats/webhooks.md', import.meta.url));
const DRIVER = `
const [headers, body, secret] = JSON.parse(process.argv[2]);
process.stdout.write(String(isGenuine(headers, body, secret)));
`;

/** What receivers copy has to be right. */
describe('the check of docs/formats/webhooks.md', () => {
  let directory: string;
  let script: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hangar-webhooks-'));
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
    script = join(directory, 'check.mjs');
    await writeFile(script, `${code}${DRIVER}`);
  });
  afterAll(() => rm(directory, { recursive: true }));

  const check = (...given: [headers: Record<string, string>, body: string, secret: string]) => {
    const ran = spawnSync(process.execPath, [script, JSON.stringify(given)], { encoding: 'utf8' });
    return { status: ran.status, said: ran.stdout };
  };

  it('takes what is signed, among several signatures too, and nothing else', () => {
    const secret = newWebhookSecret();
    const body = '{"type":"card.raised","data":{"text":"é…"}}';
    const at = Math.floor(Date.now() / 1000);
    const signed = (age = 0): Record<string, string> => ({
      'webhook-id': 'dlv-1',
      'webhook-timestamp': String(at - age),
      'webhook-signature': signWebhook(secret, 'dlv-1', at - age, body),
    });
    const two = { ...signed(), 'webhook-signature': `v1,AAAA ${signed()['webhook-signature']}` };
    const said = (yes: boolean) => ({ status: 0, said: String(yes) });
    expect(check(signed(), body, secret)).toEqual(said(true));
    expect(check(two, body, secret)).toEqual(said(true));
    expect(check(signed(), `${body} `, secret)).toEqual(said(false));
    expect(check(signed(), body, newWebhookSecret())).toEqual(said(false));
    expect(check({ ...signed(), 'webhook-id': 'dlv-2' }, body, secret)).toEqual(said(false));
    expect(check(signed(600), body, secret)).toEqual(said(false));
    expect(check(signed(-600), body, secret)).toEqual(said(false));
    expect(check({ ...signed(), 'webhook-timestamp': 'x' }, body, secret)).toEqual(said(false));
  });
});
