import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from '../../../libs/service-kit/src/settings.ts';
import { parseAllDocuments } from 'yaml';
import { ROOT, files } from './checkout.ts';
import { eventsPage } from './events-page.ts';
import { settingsPage } from './settings-page.ts';
import { formatted } from './write-page.ts';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const pages = files('*.md').filter((file) => existsSync(join(ROOT, file)));

/** Without fenced blocks: links and paths in there belong to whoever runs them. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** The anchors that a page's headings give, as the usual renderers make them. */
const anchors = (text: string): string[] =>
  [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

function brokenLinks(file: string): string[] {
  const links = [...prose(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchors(read(target)).includes(anchor);
  });
}

/** Paths in code spans that start with a folder of this repository; `<name>` and `*` stand for any. */
function missingFiles(file: string): string[] {
  const spans = [...prose(read(file)).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return spans
    .filter((span) => /^(apps|libs|proto|tools|docs|k8s)\/[\w./<>*{},-]+$/.test(span))
    .flatMap(expandBraces)
    .filter((path) => !matches(path));
}

function expandBraces(path: string): string[] {
  const found = /^(.*?)\{([^}]*)\}(.*)$/.exec(path);
  if (!found) return [path];
  const [, before = '', choices = '', after = ''] = found;
  return choices.split(',').flatMap((choice) => expandBraces(before + choice + after));
}

/** A page may not lead anywhere by a path that only looks like one of ours. */
function matches(path: string): boolean {
  if (!/[<*]/.test(path)) return existsSync(join(ROOT, path));
  return files(path.replaceAll(/<[^>]+>/g, '*')).length > 0;
}

const SCRIPTS = Object.keys(
  (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts,
);

describe('documents', () => {
  it('are found', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/ARCHITECTURE.md']));
  });

  it.each(pages)('%s: every link leads to a page and a heading of it', (file) => {
    expect(brokenLinks(file)).toEqual([]);
  });

  it.each(pages)('%s: every file that is named is there', (file) => {
    expect(missingFiles(file)).toEqual([]);
  });

  it.each(pages)('%s: every npm script that is named is there', (file) => {
    const named = [...read(file).matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !SCRIPTS.includes(name))).toEqual([]);
  });

  it.each(pages)('%s: every setting that is named is one', (file) => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ name }) => name));
    const named = [...read(file).matchAll(/\bHANGAR_[A-Z_]+\b/g)].map(([name]) => name);
    expect(named.filter((name) => !known.has(name) && !ELSEWHERE.test(name))).toEqual([]);
  });

  it.each(pages)('%s: says nothing of the machines it was written on', (file) => {
    expect(read(file)).not.toMatch(/\/work\/|\bregistry\.\w+\.\w+/);
  });
});

/** Of the client, the harness adapters, the tests and JetStream: no settings of a service. */
const ELSEWHERE =
  /^HANGAR_(URL|EVENTS|SESSION|MODEL_RETRIES|HARNESS_DIRECTORY|SETTINGS|TEST_[A-Z_]+|)$/;

describe('generated pages are what they are made from', () => {
  it('docs/formats/events.md: node tools/gen-events.ts', async () => {
    expect(read('docs/formats/events.md')).toBe(await formatted(eventsPage()));
  });

  it('docs/settings.md: node tools/gen-settings.ts', async () => {
    expect(read('docs/settings.md')).toBe(await formatted(settingsPage()));
  });
});

describe('the glossary', () => {
  it('has the states that sessions have', () => {
    const glossary = read('docs/glossary.md');
    const states = /SESSION_STATES = \[([^\]]+)\]/.exec(
      read('libs/contracts/src/api/session-document.ts'),
    )?.[1];
    const names = [...(states ?? '').matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !glossary.includes(`| ${name} `))).toEqual([]);
  });
});

describe('the import table of docs/ARCHITECTURE.md', () => {
  it('is the one that tools/check-graph.ts holds', () => {
    const held = /const MAY[^{]*\{([\s\S]*?)\n\};/.exec(read('tools/check-graph.ts'))?.[1] ?? '';
    const rules = [...held.matchAll(/^ {2}'?([\w-]+)'?: \[([^\]]*)\]/gm)].map(
      ([, layer = '', may = '']) => [layer, [...may.matchAll(/'([\w-]+)'/g)].map((m) => m[1])],
    );
    expect(rules.length).toBeGreaterThan(8);
    const told = [
      ...read('docs/ARCHITECTURE.md').matchAll(/^\| ([\w-]+) +\| ([^|]*)\| ([^|]*)\|/gm),
    ]
      .filter(([, layer = '']) => rules.some(([name]) => name === layer))
      .map(([, layer, , may = '']) => [layer, may.trim() === '-' ? [] : may.trim().split(', ')]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(rules));
  });
});

describe('deployment files', () => {
  const manifests = files('docker-compose.yml', 'k8s/*.yaml', 'k8s/**/*.yaml');

  it('are found', () => {
    expect(manifests.length).toBeGreaterThan(6);
  });

  it.each(manifests)('%s is YAML', (file) => {
    const documents = parseAllDocuments(read(file));
    expect(documents.flatMap((document) => document.errors)).toEqual([]);
  });

  it.each(manifests)('%s names only settings that there are', (file) => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ name }) => name));
    const named = [...read(file).matchAll(/\bHANGAR_[A-Z_]+\b/g)].map(([name]) => name);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});
