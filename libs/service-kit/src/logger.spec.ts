import { describe, expect, it } from '@jest/globals';
import { createLogger, type LoggerOptions } from './logger.ts';
import { createRedactor } from './redact.ts';

function logged(
  log: (logger: ReturnType<typeof createLogger>) => void,
  options: Partial<LoggerOptions> = {},
): Record<string, unknown>[] {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  log(createLogger({ service: 'test', level: 'info', destination, ...options }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('createLogger', () => {
  it('writes one line of JSON, with name, level as a word and time', () => {
    const [line] = logged((logger) => logger.info({ sandbox_id: 'sbx-1' }, 'ready\nnow'));
    expect(line).toMatchObject({
      level: 'info',
      name: 'test',
      msg: 'ready\nnow',
      sandbox_id: 'sbx-1',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it('hides fields by name, tokens by shape and known values, also in errors', () => {
    const redact = createRedactor([{ name: 'DB', value: 'known "value"' }]);
    const lines = logged(
      (logger) => {
        logger.info({ token: 'abc', user: { password: 'pw', deep: { secret: 'x' } } }, 'a');
        logger.info(`cloning https://me:pw12345@host/a with ghp_${'a1'.repeat(18)}`);
        logger.error({ err: new Error('no known "value" here') }, 'b');
      },
      { redact },
    );
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({
      token: '[Redacted]',
      user: { password: '[Redacted]', deep: { secret: '[Redacted]' } },
    });
    expect(lines[1]?.['msg']).toBe('cloning https://me:[redacted]@host/a with [redacted]');
    expect(lines[2]).toMatchObject({ err: { message: 'no [redacted DB] here' } });
  });

  it('is as quiet as it is told', () => {
    const all = (logger: ReturnType<typeof createLogger>): void => {
      for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const) {
        logger[level]('x');
      }
    };
    expect(logged(all, { level: 'warn' })).toHaveLength(3);
    expect(logged(all, { level: 'silent' })).toHaveLength(0);
  });

  it('takes what Nest says of its start for debugging, but not its warnings', () => {
    const nest = (logger: ReturnType<typeof createLogger>): void => {
      logger.info({ context: 'RouterExplorer' }, 'Mapped {/x, GET} route');
      logger.warn({ context: 'RouterExplorer' }, 'Route shadowed');
      logger.info({ context: 'SessionService' }, 'kept');
    };
    expect(logged(nest).map(({ level }) => level)).toEqual(['warn', 'info']);
    expect(logged(nest, { level: 'debug' }).map(({ level }) => level)).toEqual([
      'debug',
      'warn',
      'info',
    ]);
  });
});
