import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { newSpec, type SuiteContext } from './suite-context.ts';

/** Creation, listing and end of sandboxes; a fake passes this too. */
export const describeLifecycle = (context: SuiteContext): void => {
  describe('life of a sandbox', () => {
    it('is found by get and list while it exists, and not after', async () => {
      const spec = newSpec();
      const ref = await context.driver.create(spec);
      const status = await context.driver.get(spec.id);
      expect(status).toMatchObject({ phase: 'ready', ref });
      const listed = (await context.driver.list()).find(({ id }) => id === spec.id);
      expect(listed).toMatchObject({ sessionId: spec.sessionId, status: { phase: 'ready' } });
      expect(Math.abs(Date.now() - listed!.createdAt.getTime())).toBeLessThan(60_000);
      await context.driver.destroy(spec.id);
      expect(await context.driver.get(spec.id)).toBeNull();
      expect((await context.driver.list()).map(({ id }) => id)).not.toContain(spec.id);
    });

    it('create is idempotent by id, also at the same time', async () => {
      const spec = newSpec();
      const refs = await Promise.all([1, 2, 3, 4].map(() => context.driver.create(spec)));
      refs.push(await context.driver.create(spec));
      expect(new Set(refs.map(({ instance }) => instance)).size).toBe(1);
      await context.driver.destroy(spec.id);
      const again = await context.driver.create(spec);
      expect(again.instance).not.toBe(refs[0]!.instance);
      await context.driver.destroy(spec.id);
    });

    it('destroy is idempotent and quiet about what never was', async () => {
      const spec = newSpec();
      await context.driver.destroy(spec.id);
      await context.driver.create(spec);
      await Promise.all([context.driver.destroy(spec.id), context.driver.destroy(spec.id)]);
      await context.driver.destroy(spec.id);
      expect(await context.driver.get(spec.id)).toBeNull();
    });

    it('what is asked of a sandbox that is gone says so', async () => {
      const spec = newSpec();
      const ref = await context.driver.create(spec);
      await context.driver.destroy(spec.id);
      const exec = await context.driver.exec(ref, { argv: ['true'] });
      expect(await text(exec.stdout)).toBe('');
      expect(await exec.exit).toEqual({ kind: 'sandbox_gone' });
      const run = await context.driver.runs.follow(ref, 'run-1', { out: 0, err: 0 });
      expect(await run.exit).toEqual({ kind: 'sandbox_gone' });
      const stat = context.driver.files.stat(ref, '/workspace');
      await expect(stat).rejects.toMatchObject({ code: 'not_found' });
      const status = context.driver.runs.status(ref, 'run-1');
      await expect(status).rejects.toMatchObject({ code: 'not_found' });
    });

    it('an old reference does not reach the new computer of the same name', async () => {
      const spec = newSpec();
      const old = await context.driver.create(spec);
      await context.driver.destroy(spec.id);
      const ref = await context.driver.create(spec);
      const exec = await context.driver.exec(old, { argv: ['true'] });
      expect(await exec.exit).toEqual({ kind: 'sandbox_gone' });
      expect((await context.driver.get(spec.id))?.ref).toEqual(ref);
      await context.driver.destroy(spec.id);
    });

    it('refuses an id that could leave its directory', async () => {
      const create = context.driver.create(newSpec({ id: '../escape' }));
      await expect(create).rejects.toMatchObject({ code: 'invalid' });
    });
  });
};
