import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AnswerCredential, CredentialRequest, SandboxRef } from '../sandbox-driver.ts';
import { newSpec, until, type SuiteContext } from './suite-context.ts';

/** What hangar's own tool says inside; the sandbox is one whose git asks hangar. */
export const describeCredentials = (context: SuiteContext): void => {
  describe('credentials', () => {
    let ref: SandboxRef;
    let ends: AbortController[];
    let tool: string;
    const requests: CredentialRequest[] = [];

    beforeEach(async () => {
      requests.length = 0;
      ends = [];
      ref = await context.driver.create(newSpec({ gitCredentials: true }));
      const status = await context.driver.get(ref.id);
      if (status?.phase !== 'ready') throw new Error('the sandbox is not ready');
      tool = `sh ${status.paths.tools}/hangar-credential`;
    });
    afterEach(async () => {
      for (const end of ends) end.abort();
      await context.driver.destroy(ref.id);
    });
    const serve = (answer: AnswerCredential): Promise<void> => {
      const end = new AbortController();
      ends.push(end);
      const noting: AnswerCredential = (request, signal) => {
        requests.push(request);
        return answer(request, signal);
      };
      return context.driver.serveCredentials(ref, noting, end.signal);
    };
    const sh = (script: string) => context.sh(script, {}, ref);

    it('a secret is asked for by name and printed as it is', async () => {
      void serve(async () => ({ output: 'two\nlines' }));
      expect(await sh(`${tool} secret NPM_TOKEN`)).toEqual({
        out: 'two\nlines',
        err: '',
        exit: { kind: 'exited', code: 0 },
      });
      expect(requests).toEqual([{ operation: 'secret', name: 'NPM_TOKEN' }]);
    });

    it('git asks for the host and the path of a URL, and uses what it is told', async () => {
      void serve(async () => ({ output: 'username=bot\npassword=p=1\n' }));
      const fill = `printf 'url=https://git.example/acme/app.git\\n' | git credential fill`;
      const { out } = await sh(fill);
      expect(out).toContain('username=bot\npassword=p=1\n');
      expect(requests).toEqual([
        expect.objectContaining({
          operation: 'get',
          protocol: 'https',
          host: 'git.example',
          path: 'acme/app.git',
        }),
      ]);
    });

    it('a refusal and an error are told to whoever asked, and git does not ask a person', async () => {
      void serve(async ({ operation }) => {
        if (operation === 'secret') throw new Error('a fault of hangar');
        return { refused: 'the environment names no credential for git.example' };
      });
      const filled = await sh(`printf 'url=https://git.example/a\\n' | git credential fill`);
      expect(filled.err).toContain('hangar: the environment names no credential for git.example');
      expect(filled.err).toContain('terminal prompts disabled');
      const failed = await sh(`${tool} secret A`);
      expect(failed).toMatchObject({ out: '', exit: { kind: 'exited', code: 1 } });
      expect(failed.err).toMatch(/^hangar: /);
    });

    it('what git would store is not asked, and what it found refused is told', async () => {
      void serve(async () => ({ output: '' }));
      const attributes = String.raw`'protocol=https\nhost=h\nusername=u\npassword=gone\n'`;
      await sh(`printf ${attributes} | git credential approve`);
      await sh(`printf ${attributes} | git credential reject`);
      expect(requests).toEqual([
        expect.objectContaining({ operation: 'erase', host: 'h', password: 'gone' }),
      ]);
    });

    it('a request waits for somebody who answers, and is asked anew when that one leaves', async () => {
      const waiting = sh(`${tool} secret LATE`);
      const never = Promise.withResolvers<never>();
      void serve(() => never.promise);
      await until('the first is asked', async () => requests.length === 1);
      ends[0]!.abort();
      void serve(async () => ({ output: 'from the second' }));
      expect((await waiting).out).toBe('from the second');
      expect(requests).toEqual([requests[0], requests[0]]);
    });

    it('many ask at once, and each has its own answer', async () => {
      void serve(async ({ name }) => ({ output: `value of ${name}\n` }));
      const asks = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `${tool} secret N${n} & `);
      const { out } = await sh(`${asks.join('')} wait`);
      expect(out.trim().split('\n').toSorted()).toEqual(
        [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `value of N${n}`),
      );
    });

    it('nothing is left of an answer, and rubbish in the pipe harms nobody', async () => {
      void serve(async () => ({ output: 'kept-no' + 'where' }));
      expect((await sh(`${tool} secret A`)).out).toBe('kept-nowhere');
      await sh('head -c 9000 /dev/urandom >"$HANGAR_CREDENTIALS/credentials"');
      await sh(String.raw`printf 'reply=../../etc\n\n\n\n' >"$HANGAR_CREDENTIALS/credentials"`);
      expect((await sh(`${tool} secret A`)).out).toBe('kept-nowhere');
      expect((await sh('ls "$HANGAR_CREDENTIALS"')).out).not.toContain('reply');
      expect(
        (await sh('grep -rl "kept-no""where" /run/hangar "$TMPDIR" "$HOME" || true')).out,
      ).toBe('');
    });

    it('is over when the sandbox is [Z3]', async () => {
      const served = serve(async () => ({ output: '' }));
      await sh(`${tool} secret A`);
      await context.driver.destroy(ref.id);
      const end = await served.catch((error: unknown) => (error as { code?: string }).code);
      expect([undefined, 'unavailable']).toContain(end);
      await expect(serve(async () => ({ output: '' }))).resolves.toBeUndefined();
    });
  });
};
