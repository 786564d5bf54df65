import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { newWebhookSecret, signWebhook } from './signature.ts';

describe('the signature of a webhook', () => {
  it('is that of the published Standard Webhooks example', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const body = '{"test": 2432232314}';
    expect(signWebhook(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, body)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('changes with the secret, the id, the time and every letter of the body', () => {
    const of = signWebhook;
    const all = [
      of('whsec_AAAA', 'a', 1, '{}'),
      of('whsec_AAAB', 'a', 1, '{}'),
      of('whsec_AAAA', 'b', 1, '{}'),
      of('whsec_AAAA', 'a', 2, '{}'),
      of('whsec_AAAA', 'a', 1, '{ }'),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('is of the bytes, also beyond ASCII', () => {
    const expected = createHmac('sha256', Buffer.from('AAAA', 'base64')).update('a.1.é…').digest();
    expect(signWebhook('whsec_AAAA', 'a', 1, 'é…')).toBe(`v1,${expected.toString('base64')}`);
  });
});

describe('a new secret', () => {
  it('is 32 random bytes behind whsec_', () => {
    const secrets = Array.from({ length: 50 }, newWebhookSecret);
    expect(new Set(secrets).size).toBe(50);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice(6), 'base64').byteLength).toBe(32);
    }
  });
});
