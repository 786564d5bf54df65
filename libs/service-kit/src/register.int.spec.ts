import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

function run(envVars: Record<string, string>): string {
  const flags = ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'];
  const child = spawnSync(
    process.execPath,
    [...flags, '--import', pathOf('./register.ts'), pathOf('./register.child.ts')],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', ...envVars }, timeout: 25_000 },
  );
  expect(child.stderr).toBe('');
  expect(child.status).toBe(0);
  return child.stdout;
}

describe('register', () => {
  it('traces http, pg and own work where it is asked for, and leaves health out', () => {
    const output = run({ OTEL_TRACES_EXPORTER: 'console', OTEL_SERVICE_NAME: 'kit-test' });
    expect(output).toMatch(/answered \/api [0-9a-f]{32}/);
    expect(output).toContain('answered /health/live none');
    expect(output).toContain("'service.name': 'kit-test'");
    const names = [...output.matchAll(/^ {2}name: '(.*)',$/gm)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(['GET', 'pg.connect', 'work']);
    const [, work] = /name: 'work',\n {2}id: '(\w+)'/.exec(output) ?? [];
    const pgSpan = output.slice(0, output.indexOf("name: 'pg.connect'"));
    expect(pgSpan.slice(pgSpan.lastIndexOf('parentSpanContext'))).toContain(work);
    // The spans are out before the process goes on to end itself.
    expect(output.lastIndexOf('traceId')).toBeLessThan(output.indexOf('flushed'));
  });

  it.each([
    {},
    { OTEL_TRACES_EXPORTER: 'none' },
    { OTEL_TRACES_EXPORTER: 'console', OTEL_SDK_DISABLED: 'true' },
  ])('does nothing with %j', (envVars) => {
    expect(run(envVars as Record<string, string>)).toBe(
      'answered /api none\nanswered /health/live none\nflushed\n',
    );
  });
});
