import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { HangarClient } from '@hangar/client';
import { SHAPE, System } from '../../standalone/e2e/system.ts';
import {
  MODEL,
  openWorkplace,
  sessionWhere,
  shell,
  TEST_MS_MAX,
  until,
  WAIT_SECONDS,
  WORK,
  type Workplace,
} from '../../standalone/e2e/workplace.ts';
import { DESKTOP, openBrowser, openPage, PHONE, type Opened } from './browser.ts';

jest.setTimeout(TEST_MS_MAX);

/** Works until a file tells it to stop, so that a test decides how long a turn is. */
const HELD = '[[ run: echo held >held.txt ;; until: go.txt ;; say: let go ]]';
const ASKING = '[[ run: echo asked >asked.txt ;; ask: Which fix? | The first | The second ]]';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** What axe finds; the diff view's own parts are looked at too. */
const violations = (page: Page): Promise<Violation[]> =>
  page.evaluate<Violation[]>(`axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)`);

describe(`a person works in the console (${SHAPE}) [U5]`, () => {
  let work: Workplace;
  let system: System;
  let browser: Browser;
  let client: HangarClient;

  beforeAll(async () => {
    // First: nothing is left to be ended where there is none.
    browser = await openBrowser();
    work = await openWorkplace();
    system = await System.start({ envVars: { HANGAR_MAX_ACTIVE_SESSIONS: '64' } });
    client = system.client();
    // The fake agent is found by its name only.
    const harnesses = ['fake', 'claude-code', 'pi'];
    await client.environments.apply('default', { env: work.envVars, harnesses });
    await create('seen', { message: WORK });
    await client.sessions.suspend('seen', {}, { waitSeconds: WAIT_SECONDS });
  });

  afterAll(async () => {
    await browser?.close();
    await system?.dispose();
    await work?.dispose();
  });

  const create = (name: string, more: object = {}) =>
    client.sessions.create(
      { name, title: name, environment: 'default', harness: 'fake', repo: work.repo, ...more },
      { waitSeconds: WAIT_SECONDS },
    );

  /** A page at a path, signed in as `npm start` does it. */
  async function open(
    path: string,
    viewport = DESKTOP,
    scheme: 'light' | 'dark' = 'light',
  ): Promise<Opened> {
    const url = `${system.url}${path}#token=${system.token}`;
    const opened = await openPage(browser, url, viewport, scheme);
    await opened.page.getByRole('main').waitFor();
    return opened;
  }

  const send = async (page: Page, text: string, button: string | RegExp): Promise<void> => {
    await page.getByLabel('Message to the agent').fill(text);
    await page.getByRole('button', { name: button, exact: true }).click();
  };

  const turn = (page: Page, number: number) => page.getByRole('region', { name: `Turn ${number}` });

  const held = async (name: string): Promise<void> => {
    await create(name);
    await client.sessions.send(name, { message: HELD });
    await until('the turn is held', async () => {
      if ((await client.sessions.get(name)).state !== 'ACTIVE') return false;
      const looked = await client.sandboxes.exec(name, { argv: ['test', '-s', 'held.txt'] });
      return looked.exit_code === 0;
    });
  };

  it('asks for a token, says when it is wrong, and shows no verbs to one that may only read [Z1]', async () => {
    const { token } = await client.tokens.create({ name: 'looks', owner: 'admin', scope: 'read' });
    const { page, context } = await openPage(browser, `${system.url}/sessions/seen`);
    await page.getByRole('textbox', { name: 'Access token' }).fill('hgr_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The access token is not valid any more.').waitFor();
    await page.getByRole('textbox', { name: 'Access token' }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await turn(page, 1).getByText('The word is pelican.', { exact: true }).waitFor();
    expect(await page.getByLabel('Message to the agent').isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Resume', exact: true }).count()).toBe(0);
    await context.close();
  });

  it('takes the link of the start in a tab that asks for a token already', async () => {
    const { page, context } = await openPage(browser, `${system.url}/sessions`);
    await page.getByRole('textbox', { name: 'Access token' }).waitFor();
    await page.evaluate(`location.hash = 'token=${system.token}'`);
    await page.getByRole('link', { name: /^seen/ }).waitFor();
    expect(page.url()).not.toContain(system.token);
    await context.close();
  });

  it('a list that is open shows what others create, and no more what they delete', async () => {
    const { page, context, complaints } = await open('/sessions');
    await page.getByRole('link', { name: /^seen/ }).waitFor();
    await create('of-another');
    const row = page.getByRole('link', { name: /^of-another/ });
    await row.getByText('Idle', { exact: true }).waitFor();
    // It comes into a list of one state, too, when it gets there.
    await page.getByLabel('State').selectOption('Suspended');
    await row.waitFor({ state: 'detached' });
    await client.sessions.suspend('of-another', {}, { waitSeconds: WAIT_SECONDS });
    await row.getByText('Suspended', { exact: true }).waitFor();
    await client.sessions.delete('of-another', { force: true });
    await row.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('Monday: signs in by the link of the start, creates a session, reads, and suspends it', async () => {
    const { page, context, complaints } = await open('/');
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
    expect(page.url()).toBe(`${system.url}/sessions`);
    await page.getByRole('link', { name: 'New session' }).first().click();
    await page.getByLabel('Title').fill('CSV export');
    expect(await page.getByLabel('Name').inputValue()).toBe('csv-export');
    expect(await page.getByLabel('Agent').inputValue()).toBe('fake');
    await page.getByLabel('Repository').fill(work.repo);
    await page.getByText('Limits that will be in force').click();
    await page.getByText('A turn that takes longer is timed out').waitFor();
    await page.getByLabel('First message').fill(WORK);
    await page.getByRole('button', { name: 'Start the session' }).click();
    await page.getByRole('heading', { name: 'CSV export' }).waitFor();
    await turn(page, 1).getByText('The word is pelican.', { exact: true }).waitFor();
    await turn(page, 1).getByText('Done', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Changes' }).click();
    for (const area of ['Committed', 'Staged', 'Unstaged', 'Untracked'])
      await page.getByRole('region', { name: area, exact: true }).waitFor();
    await page.getByRole('link', { name: 'Checkpoints' }).click();
    await page.getByText('After turn 1').waitFor();
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Suspended', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('Wednesday: finds it, goes on by a message, and reads what came back [R2]', async () => {
    const { page, context, complaints } = await open('/sessions');
    await page.getByLabel('Search sessions').fill('csv');
    await page.getByRole('link', { name: /CSV export/ }).click();
    await send(page, '[[ run: cat u.txt ;; say: Still here. ]]', 'Resume and send');
    await turn(page, 2).getByText('Still here.', { exact: true }).waitFor();
    await page.getByText('Idle', { exact: true }).waitFor();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText(/Came back whole: the conversation, commits, staged changes/).waitFor();
    await details.getByText(/Did not come back: processes/).waitFor();
    // What was done in earlier turns is read when it is asked for.
    await page.reload();
    await turn(page, 1).getByRole('button', { name: 'Show what it did' }).click();
    await turn(page, 1).getByText('echo two > b.txt').first().waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('steers a turn at work, queues a message, and takes it back [M3] [M4]', async () => {
    await held('steered');
    const { page, context, complaints } = await open('/sessions/steered');
    await page.getByText(/Working for/).waitFor();
    await send(page, '[[ say: I was steered. ]]', 'Send');
    const queue = page.getByRole('list', { name: 'Queued messages' });
    await queue.getByText('applies after the current tool call').waitFor();
    await page.getByLabel('Message to the agent').fill('never mind');
    await page.getByRole('button', { name: 'Other ways to send' }).click();
    await page.getByRole('menuitem', { name: 'Queue for the next turn' }).click();
    await queue.getByText('starts the next turn').waitFor();
    await queue.getByRole('button', { name: 'Take back: never mind' }).click();
    await queue.getByText('never mind').waitFor({ state: 'detached' });
    await shell(client, 'steered', 'touch go.txt');
    await turn(page, 1).getByText('While it worked').waitFor();
    await turn(page, 1).getByText('I was steered.', { exact: true }).waitFor();
    await turn(page, 1).getByText('Done', { exact: true }).waitFor();
    expect((await client.sessions.get('steered')).turns).toHaveLength(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('answers a question after its session was suspended [A2]', async () => {
    const { page, context, complaints } = await open('/needs-you');
    await page.getByRole('heading', { name: 'Nothing waits on you' }).waitFor();
    await client.sessions.create({
      name: 'asks',
      environment: 'default',
      harness: 'fake',
      repo: work.repo,
      message: ASKING,
    });
    await page.getByText('Which fix?').first().waitFor();
    expect(await page.title()).toBe('(1) Needs you · hangar');
    await client.sessions.suspend('asks', {}, { waitSeconds: WAIT_SECONDS });
    await page.getByText('Suspended', { exact: true }).waitFor();
    await page.getByLabel('The second').check();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByRole('heading', { name: 'Nothing waits on you' }).waitFor();
    expect(await page.title()).toBe('Needs you · hangar');
    const end = await sessionWhere(client, 'asks', (s) => s.state === 'IDLE');
    expect(end.turns.at(-1)?.summary).toContain('answered: The second');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('decides on a tool call, and the decision is on record [A3]', async () => {
    const message = '[[ run: rm -rf build ;; say: tidy ]]';
    await client.sessions.create({
      name: 'careful',
      environment: 'default',
      harness: 'fake',
      repo: work.repo,
      permissions: { mode: 'ask' },
      message,
    });
    const { page, context, complaints } = await open('/sessions/careful');
    await page.getByLabel('Why it is denied').fill('build is kept');
    await page.getByRole('button', { name: 'Deny' }).click();
    await turn(page, 1).getByText('Done', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Decisions' }).click();
    await page.getByText('Denied').first().waitFor();
    await page.getByText('by a person').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('a comment on a line reaches the prompt of Claude Code, with its file and the line itself', async () => {
    await create('review', {
      harness: 'claude-code',
      model: MODEL['claude-code'],
      message:
        '[[ write: sum.ts=export const sum = (a: number, b: number) => a - b; ;; say: done ]]',
    });
    const { page, context, complaints } = await open('/sessions/review/changes');
    await page.locator('[data-line]').filter({ hasText: 'a - b' }).first().hover();
    await page.locator('[data-utility-button]').first().click();
    await page.getByLabel('Comment', { exact: true }).fill('Should this not add?');
    await page.getByRole('button', { name: 'Add the comment' }).click();
    await page.getByText('Goes to the agent with your next message').waitFor();
    // What is not sent yet outlives a reload.
    await page.reload();
    await page.getByText('1 comment on lines will go with it').waitFor();
    await page.getByRole('button', { name: 'Send comments' }).click();
    await page.getByText('1 comment on lines will go with it').waitFor({ state: 'detached' });
    await sessionWhere(client, 'review', (s) => s.state === 'IDLE' && s.turns.length === 2);
    const prompts = work.model.requests().flatMap(({ userTexts }) => userTexts);
    const comment = prompts.find((text) => text.includes('Should this not add?'));
    expect(comment).toContain('sum.ts:1');
    expect(comment).toContain('> export const sum = (a: number, b: number) => a - b;');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('a shell goes on while the page is away, and shows what it printed meanwhile [X8]', async () => {
    await create('shells');
    const { page, context, complaints } = await open('/sessions/shells/terminals');
    await page.getByRole('button', { name: 'Open a shell' }).click();
    await page.getByText('Attached').waitFor();
    await page.keyboard.type('sleep 1; echo six times seven is $((6*7))\n');
    await page.reload();
    await page.locator('.xterm-rows').getByText('six times seven is 42').waitFor();
    await page.getByRole('button', { name: 'End this one' }).click();
    await page.getByRole('heading', { name: 'No terminal is open' }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('says when it is out of date, and goes on without a gap after a restart of the server [U2]', async () => {
    await create('restart');
    const { page, context } = await open('/sessions/restart');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.evaluate('globalThis.wasHere = true');
    await system.kill();
    await page.getByText('Out of date').waitFor();
    await system.up();
    await client.sessions.sendAndWait(
      'restart',
      { message: '[[ say: after the restart ]]' },
      { waitSeconds: WAIT_SECONDS },
    );
    await turn(page, 1).getByText('after the restart', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    // It is the page that was there before: nothing was loaded anew.
    expect(await page.evaluate<boolean>('globalThis.wasHere === true')).toBe(true);
    await context.close();
  });

  it('reads the log, and a session as it was at an event of it [L1]', async () => {
    const { page, context, complaints } = await open('/audit?session=seen');
    const events = page.getByRole('list', { name: 'Events, the newest first' });
    await events.getByRole('button', { name: /Session suspended/ }).click();
    const then = page.getByRole('region', { name: 'The session as it was then' });
    await then.getByText('Suspended', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('The log is unharmed').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('deletes a session only when it is confirmed', async () => {
    await create('gone');
    const { page, context, complaints } = await open('/sessions/gone');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    expect((await client.sessions.get('gone')).state).toBe('IDLE');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
    await page.getByRole('link', { name: /^seen/ }).waitFor();
    expect(await page.getByRole('link', { name: /gone/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  const PAGES = [
    '/sessions',
    '/sessions/new',
    '/sessions/seen',
    '/sessions/seen/changes',
    '/sessions/seen/decisions',
    '/sessions/seen/checkpoints',
    '/sessions/seen/terminals',
    '/sessions/seen/details',
    '/needs-you',
    '/environments',
    '/secrets',
    '/audit?session=seen',
    '/settings',
    '/nowhere',
  ];

  it.each([
    ['on a desk, light', DESKTOP, 'light'],
    ['on a phone, dark', PHONE, 'dark'],
  ] as const)('every page can be read and used by everybody: %s', async (_, viewport, scheme) => {
    const { page, context, complaints } = await open('/sessions', viewport, scheme);
    await page.evaluate(AXE);
    const found: string[] = [];
    for (const path of PAGES) {
      // As a link goes there: the page is not loaded anew.
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
      await page.locator(`main[data-path="${path.replace(/\?.*/, '')}"]`).waitFor();
      const loading = page.getByRole('status', { name: /^Loading/ });
      await until(`${path} is there`, async () => (await loading.count()) === 0);
      for (const { id, impact, nodes } of await violations(page))
        if (impact === 'serious' || impact === 'critical')
          found.push(`${path}: ${impact} ${id} ${nodes[0]?.html}`);
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      if (overflow > 0) found.push(`${path}: wider than the window by ${overflow} px`);
    }
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
