import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { ExitStatus, SandboxIo } from '@hangar/sandbox-drivers';
import { createFakeDriver } from '@hangar/sandbox-drivers/fake';
import { conversationFiles } from './conversation-files.ts';

/** As the contract has it: the exit is known after the streams were read. */
const inOrder = (io: SandboxIo): SandboxIo => ({
  ...io,
  exec: async (ref, request) => {
    const stream = await io.exec(ref, request);
    const read = Promise.all([once(stream.stdout, 'close'), once(stream.stderr, 'close')]);
    return { ...stream, exit: read.then(() => stream.exit) };
  },
});

async function listed(stdout: string, exit: ExitStatus): Promise<string[]> {
  const driver = createFakeDriver({ exec: () => ({ stdout, exit }) });
  const ref = await driver.create({
    id: 'sbx-1',
    sessionId: 'ses-1',
    cwd: '/workspace',
    envVars: {},
    network: 'open',
    mounts: [],
    resources: {},
  });
  const found = await conversationFiles(inOrder(driver), ref).list('/home/agent/.codex');
  expect(driver.execs.map(({ quiet }) => quiet)).toEqual([true]);
  return found;
}

describe("a conversation's files", () => {
  it('are listed with names of any kind', async () => {
    const names = '/home/agent/.codex/a b\0/home/agent/.codex/c\nd\0';
    expect(await listed(names, { kind: 'exited', code: 0 })).toEqual([
      '/home/agent/.codex/a b',
      '/home/agent/.codex/c\nd',
    ]);
  });

  it('are none where the directory does not exist', async () => {
    expect(await listed('', { kind: 'exited', code: 1 })).toEqual([]);
  });

  it.each<ExitStatus>([
    { kind: 'timed_out' },
    { kind: 'connection_lost' },
    { kind: 'signalled', signal: 'SIGKILL' },
  ])('are not known after half a list: %o', async (exit) => {
    await expect(listed('/home/agent/.codex/a\0', exit)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('are a list without the path that the bound cut', async () => {
    const many = '/home/agent/.codex/x\0'.repeat(300_000);
    const found = await listed(many, { kind: 'exited', code: 0 });
    expect(new Set(found)).toEqual(new Set(['/home/agent/.codex/x']));
  });
});
