import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { System } from '../../standalone/e2e/system.ts';
import { openWorkplace, TEST_MS_MAX, type Workplace } from '../../standalone/e2e/workplace.ts';
import { openBrowser, openPage } from './browser.ts';

jest.setTimeout(TEST_MS_MAX);

describe('a person works in the console [U5]', () => {
  let work: Workplace;
  let system: System;
  let browser: Browser;

  beforeAll(async () => {
    work = await openWorkplace();
    [system, browser] = await Promise.all([
      System.start({ shape: 'standalone', envVars: { HANGAR_MAX_ACTIVE_SESSIONS: '64' } }),
      openBrowser(),
    ]);
    await system.client().environments.apply('default', {
      env: work.envVars,
      harnesses: ['fake', 'claude-code', 'pi'],
    });
  });

  afterAll(async () => {
    await browser?.close();
    await system?.dispose();
    await work?.dispose();
  });

  it('signs in by the link of the start, creates a session, and reads what the agent said', async () => {
    const { page, context, complaints } = await openPage(
      browser,
      `${system.url}/#token=${system.token}`,
    );
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    expect(page.url()).toBe(`${system.url}/sessions`);
    await page.getByRole('link', { name: 'New session' }).first().click();
    await page.getByLabel('Title').fill('First look');
    expect(await page.getByLabel('Agent').inputValue()).toBe('fake');
    await page.getByLabel('Repository').fill(work.repo);
    await page.getByLabel('First message').fill('[[ run: echo hi ;; say: It says **hi**. ]]');
    await page.getByRole('button', { name: 'Start the session' }).click();
    await page.getByRole('heading', { name: 'First look' }).waitFor();
    await page.getByRole('region', { name: 'Turn 1' }).getByText('It says hi.').waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
    await page.getByText('Idle', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
