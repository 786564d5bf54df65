import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

/** Debian's; another one by its path. */
const CHROMIUM = process.env['HANGAR_TEST_CHROMIUM'] ?? '/usr/bin/chromium';

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export function openBrowser(): Promise<Browser> {
  // Journeys that nobody walks show nothing: without a browser they fail.
  if (!existsSync(CHROMIUM))
    throw new Error(
      `there is no ${CHROMIUM}: apt-get install chromium, or name one in HANGAR_TEST_CHROMIUM`,
    );
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export interface Opened {
  page: Page;
  context: BrowserContext;
  /** What the page complained of so far: errors of its scripts, and what the browser refused. */
  complaints: string[];
}

/** A page of its own, as a person's browser has it, without animations. */
export async function openPage(
  browser: Browser,
  url: string,
  viewport: { width: number; height: number } = DESKTOP,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Opened> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, context, complaints };
}
