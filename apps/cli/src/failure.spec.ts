import { describe, expect, it } from '@jest/globals';
import { HangarError, type ErrorCode } from '@hangar/contracts';
import { failureText } from './failure.ts';
import { problem, startFakeServer } from './testing/fake-server.ts';
import { runCommand } from './testing/run-command.ts';

const CONTEXT = { changes: true, tokenSource: 'HANGAR_TOKEN', hasToken: true };

describe('an error', () => {
  it.each([
    ['invalid', 1, 'Nothing was changed.'],
    ['not_found', 1, 'Nothing was changed.'],
    ['conflict', 1, 'Nothing was changed.'],
    ['exhausted', 1, 'Nothing was changed.'],
    ['unauthenticated', 4, 'Nothing was changed.'],
    ['forbidden', 4, 'Nothing was changed.'],
    ['unavailable', 1, 'It is not known whether the server did it; what it did is in its log.'],
    ['internal', 1, 'It is not known whether the server did it; what it did is in its log.'],
  ] as [ErrorCode, number, string][])('%s has the exit code %i', (code, exitCode, kept) => {
    const text = failureText(new HangarError(code, 'it went wrong'), CONTEXT);
    expect(text).toMatchObject({ code, exitCode, kept, what: 'It went wrong.' });
    expect(text.next).not.toBe('');
  });

  it('of a command that only reads has changed nothing, whatever it was', () => {
    const error = new HangarError('unavailable', 'away');
    expect(failureText(error, { ...CONTEXT, changes: false }).kept).toBe('Nothing was changed.');
  });

  it('says what the server says to do', () => {
    const error = new HangarError('conflict', 'x', { hint: 'interrupt it first' });
    expect(failureText(error, CONTEXT).next).toBe('Interrupt it first.');
  });

  it('of the token says which one, and where it should come from', () => {
    const error = new HangarError('unauthenticated', 'no');
    expect(failureText(error, CONTEXT).next).toMatch(/HANGAR_TOKEN\) is not known/);
    const none = { ...CONTEXT, hasToken: false, tokenSource: 'none: no file' };
    expect(failureText(error, none).next).toMatch(/Set HANGAR_TOKEN .*no file/);
  });
});

describe('what the server refuses', () => {
  it('comes in three lines, or as JSON', async () => {
    const server = await startFakeServer({
      'GET /api/sessions/x': problem(404, 'not_found', 'There is no session x.', 'List them.'),
      'POST /api/sessions/x/open': problem(401, 'unauthenticated', 'This token is not known.'),
    });
    const text = await runCommand(['session', 'get', 'x'], { url: server.url });
    expect(text).toMatchObject({ code: 1, out: '' });
    expect(text.err).toBe(
      'error: There is no session x.\nkept:  Nothing was changed.\nnext:  List them.\n',
    );
    const json = await runCommand(['session', 'get', 'x', '--json'], { url: server.url });
    expect(JSON.parse(json.err)).toEqual({
      error: {
        code: 'not_found',
        detail: 'There is no session x. Nothing was changed.',
        hint: 'List them.',
      },
    });
    expect((await runCommand(['session', 'open', 'x'], { url: server.url })).code).toBe(4);
    await server.close();
  });

  it('cannot move the cursor or colour the screen', async () => {
    const server = await startFakeServer({
      'GET /api/sessions/x': problem(409, 'conflict', 'a\u001b[2Jb\u0007'),
    });
    const { err } = await runCommand(['session', 'get', 'x'], { url: server.url, tty: true });
    await server.close();
    expect(err).toContain('A\uFFFD[2Jb\uFFFD');
  });
});
