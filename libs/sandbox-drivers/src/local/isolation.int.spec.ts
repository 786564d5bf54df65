import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SandboxRef, SandboxSpec } from '../sandbox-driver.ts';
import { startDriverProcess } from '../testing/driver-process.ts';
import { newSpec } from '../testing/index.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';
import type { SandboxRecord } from './record.ts';

const isRoot = process.getuid?.() === 0;
const run = promisify(execFile);

describe('isolation of the local driver', () => {
  let local: Awaited<ReturnType<typeof openLocalDriver>>;
  let ref: SandboxRef;
  let other: SandboxRef;
  beforeAll(async () => {
    local = await openLocalDriver('auto');
    ref = await local.driver.create(newSpec());
    other = await local.driver.create(newSpec());
  });
  afterAll(async () => {
    for (const { id } of await local.driver.list()) await local.driver.destroy(id);
    await local.driver.close();
    await local.close();
  });
  const sh = async (script: string, where: SandboxRef = ref) => {
    const exec = await local.driver.exec(where, { argv: ['bash', '-c', script] });
    const [out, err] = await Promise.all([text(exec.stdout), text(exec.stderr)]);
    return { out: out.trim(), err: err.trim(), exit: await exec.exit };
  };
  const withSandbox = async (
    changes: Partial<SandboxSpec>,
    use: (ref: SandboxRef) => Promise<void>,
  ): Promise<void> => {
    const made = await local.driver.create(newSpec(changes));
    try {
      await use(made);
    } finally {
      await local.driver.destroy(made.id);
    }
  };
  const recordOf = async (id: string): Promise<SandboxRecord> =>
    JSON.parse(
      await readFile(join(local.stateDirectory, 'sandboxes', id, 'record.json'), 'utf8'),
    ) as SandboxRecord;

  it('holds no capability, gains none, and runs under the filter', async () => {
    const { out } = await sh(
      'grep -E "^(CapEff|CapBnd|CapPrm|NoNewPrivs|Seccomp):" /proc/self/status',
    );
    const values = Object.fromEntries(out.split('\n').map((line) => line.split(/:\s+/)));
    expect(values).toEqual({
      CapPrm: '0000000000000000',
      CapEff: '0000000000000000',
      CapBnd: '0000000000000000',
      NoNewPrivs: '1',
      Seccomp: '2',
    });
    expect((await sh('id -un; id -u; echo $HOME; pwd')).out).toBe(
      'agent\n1000\n/home/agent\n/workspace',
    );
  });

  it('cannot see the host: files, state, processes, secrets', async () => {
    const { out } = await sh(
      `ls -d /root /var/lib/* /srv /boot /sys /mnt/* ${local.stateDirectory} 2>/dev/null; ` +
        'cat /etc/shadow 2>/dev/null; ls /home; ls /run /run/hangar; ls /proc | grep -cE "^[0-9]+$"',
    );
    const lines = out.split('\n');
    expect(lines[0]).toBe('agent');
    expect(lines.slice(1, 3)).toEqual(['/run:', 'hangar']);
    expect(Number(lines.at(-1))).toBeLessThan(10);
    expect((await sh('cat /proc/*/environ | tr "\\0" "\\n" | grep -c JEST_WORKER_ID')).out).toBe(
      '0',
    );
  });

  it('cannot write outside its own disk', async () => {
    const targets = ['/', '/usr', '/etc', '/run/hangar', '/run/hangar/tools', '/opt'];
    for (const target of targets) {
      expect((await sh(`touch ${target}/x 2>&1`)).exit).not.toEqual({ kind: 'exited', code: 0 });
    }
    expect((await sh('touch /tmp/x ~/x /workspace/x')).exit).toEqual({ kind: 'exited', code: 0 });
  });

  it('does not see what another sandbox has, and cannot reach its processes', async () => {
    await sh(
      'echo mine > /workspace/secret; echo mine > /tmp/secret; (exec -a quarry sleep 7001) &',
    );
    const { out } = await sh(
      'cat /workspace/secret /tmp/secret 2>/dev/null; pgrep -f quarry',
      other,
    );
    expect(out).toBe('');
    expect((await sh('cat /workspace/secret; pgrep -fc "^quarry 7001"')).out).toBe('mine\n1');
    await sh('pkill -f 7001');
  });

  it('cannot make namespaces or mounts', async () => {
    for (const command of ['unshare -U true', 'unshare -m true', 'mount -t tmpfs x /tmp']) {
      expect((await sh(command)).exit).not.toEqual({ kind: 'exited', code: 0 });
    }
    expect((await sh('bwrap --unshare-user --ro-bind / / true')).exit).not.toEqual({
      kind: 'exited',
      code: 0,
    });
  });

  it('a link cannot lead the driver to a file of the host', async () => {
    const secret = join(local.stateDirectory, 'host-secret');
    await writeFile(secret, 'host');
    await sh(`ln -s ${secret} /workspace/link; ln -s ${local.stateDirectory} /workspace/dir`);
    expect(await local.driver.files.get(ref, '/workspace/link')).toBeNull();
    const put = local.driver.files.put(ref, '/workspace/dir/host-secret', Buffer.from('agent'));
    await expect(put).rejects.toMatchObject({ code: 'invalid' });
    await local.driver.files.put(ref, '/workspace/link', Buffer.from('agent'));
    expect(await readFile(secret, 'utf8')).toBe('host');
  });

  it('network none has only a loopback of its own; open shares the host', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const read = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    expect((await sh(read)).out).toBe('hello');
    await withSandbox({ network: 'none' }, async (cut) => {
      expect((await sh(read, cut)).exit).toEqual({ kind: 'exited', code: 1 });
      expect((await sh("awk -F: 'NR>2 {print $1}' /proc/net/dev", cut)).out).toBe('lo');
    });
    server.close();
  });

  it('mounts what was asked for, whatever it is called, read-only where asked', async () => {
    const source = await mkdtemp(join(tmpdir(), 'hangar mount\t\\040 \n#\'"é-'));
    await writeFile(join(source, 'file'), 'mounted');
    await chmod(source, 0o777);
    const mounts = [
      { source, target: '/mnt/read', readOnly: true },
      { source, target: '/mnt/write', readOnly: false },
    ];
    await withSandbox({ mounts }, async (made) => {
      expect((await sh('cat /mnt/read/file', made)).out).toBe('mounted');
      expect((await sh('touch /mnt/read/x', made)).exit).not.toEqual({ kind: 'exited', code: 0 });
      expect((await sh('touch /mnt/write/x', made)).exit).toEqual({ kind: 'exited', code: 0 });
    });
    const bad = local.driver.create(newSpec({ mounts: [{ ...mounts[0]!, target: '/proc/x' }] }));
    await expect(bad).rejects.toMatchObject({ code: 'invalid' });
    await rm(source, { recursive: true });
  });

  it('git accepts a repository of another owner, also at the other end of a clone', async () => {
    const source = await mkdtemp(join(tmpdir(), 'hangar-git-'));
    await chmod(source, 0o755);
    await run('git', ['init', '--bare', join(source, 'r.git')]);
    const mounts = [{ source, target: '/mnt/remote', readOnly: true }];
    await withSandbox({ mounts }, async (made) => {
      const cloned = await sh('git clone -q /mnt/remote/r.git /workspace/app; echo $?', made);
      expect(cloned.out).toBe('0');
      // The directory of the session is the default one as soon as it is there.
      expect((await sh('pwd', made)).out).toBe('/workspace/app');
    });
    await rm(source, { recursive: true });
  });

  it('memory and process limits hit the command and not the sandbox', async () => {
    const resources = { memoryMb: 256, pids: 60, cpus: 0.5 };
    await withSandbox({ resources }, async (small) => {
      const { cgroups } = await recordOf(small.id);
      const cpu = await Promise.all(
        cgroups.map((path) => readFile(join(path, 'cpu.cfs_quota_us'), 'utf8').catch(() => '')),
      );
      expect(cpu.join('').trim()).toBe('50000');
      const eat = await sh(
        'python3 -c "x = bytearray(600*1024*1024); print(len(x))" || exit $?',
        small,
      );
      expect(eat.out).toBe('');
      expect(eat.exit).toEqual({ kind: 'exited', code: 137 });
      const script = 'i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); done';
      // dash gives up at once where bash tries again for a quarter of a minute.
      const bomb = await sh(`sh -c '${script}'`, small);
      expect(bomb.err).toMatch(/fork|Resource temporarily unavailable/);
      await sh('pkill sleep', small);
      expect((await sh('echo alive', small)).out).toBe('alive');
    });
  });

  it('an agent that kills sandboxd gets it back, and its run goes on', async () => {
    await withSandbox({}, async (made) => {
      const script = 'echo one; read line; echo "$line"; exit 4';
      const argv = ['sh', '-c', script];
      await local.driver.runs.start(made, 'run-1', { argv, cwd: '/workspace', envVars: {} });
      const before = await local.driver.runs.follow(made, 'run-1', { out: 0, err: 0 });
      const killer = await local.driver.exec(made, {
        argv: ['sh', '-c', 'pkill -9 -f hangar-sandboxd'],
      });
      expect(await killer.exit).toEqual({ kind: 'connection_lost' });
      before.stdout.resume();
      before.stderr.resume();
      expect(await before.exit).toEqual({ kind: 'connection_lost' });
      const after = await local.driver.runs.follow(made, 'run-1', { out: 4, err: 0 });
      await local.driver.runs.input(made, 'run-1', 'k', Buffer.from('two\n'));
      after.stderr.resume();
      expect(await text(after.stdout)).toBe('two\n');
      expect(await after.exit).toEqual({ kind: 'exited', code: 4 });
    });
  });

  it('kill -9 -1 and signals to PID 1 do not end the sandbox', async () => {
    await withSandbox({}, async (made) => {
      const exec = await local.driver.exec(made, { argv: ['sh', '-c', 'kill -9 1; kill -9 -1'] });
      exec.stdout.resume();
      exec.stderr.resume();
      await exec.exit;
      expect((await sh('echo alive', made)).out).toBe('alive');
    });
  });

  it('a link in the place of the socket does not lead the driver to a socket of the host', async () => {
    await withSandbox({}, async (made) => {
      const socket = join(local.stateDirectory, 'host.sock');
      let connections = 0;
      const server = createServer(() => connections++).listen(socket);
      await once(server, 'listening');
      const link = `ln -sf ${socket} /run/hangar/socket/s`;
      expect((await sh(link, made)).exit).toEqual({ kind: 'exited', code: 0 });
      const fresh = (await openFresh()).driver;
      const stat = fresh.files.stat(made, '/workspace');
      await expect(stat).rejects.toMatchObject({ code: 'unavailable' });
      expect(connections).toBe(0);
      await fresh.close();
      server.close();
    });
  });

  it('garbage from inside is an error, not a hang or a crash', async () => {
    await withSandbox({}, async (made) => {
      // An impostor takes sandboxd's place, says hello as it should, and then breaks the rules.
      const impostor = `
        const net = require('net'), fs = require('fs');
        const config = JSON.parse(fs.readFileSync('/run/hangar/sandboxd.json'));
        const hello = Buffer.from(JSON.stringify({ protocol: 1, instance: config.instance }));
        const head = Buffer.alloc(9); head.writeUInt32LE(hello.length, 0);
        fs.unlinkSync('/run/hangar/socket/s');
        net.createServer((c) => {
          c.on('error', () => {});
          c.write(Buffer.concat([head, hello]));
          c.once('data', () => c.write(Buffer.alloc(200, 255)));
        }).listen('/run/hangar/socket/s', () => console.log('up'));
        setTimeout(() => process.exit(), 20000);
      `;
      const argv = ['/run/hangar/node', '-e', impostor];
      await local.driver.runs.start(made, 'run-1', { argv, cwd: '/workspace', envVars: {} });
      const run = await local.driver.runs.follow(made, 'run-1', { out: 0, err: 0 });
      const lines = run.stdout[Symbol.asyncIterator]();
      expect(String((await lines.next()).value)).toBe('up\n');
      await local.driver.close();
      const fresh = (await openFresh()).driver;
      const confused = await fresh.exec(made, { argv: ['true'] });
      expect(await confused.exit).toEqual({ kind: 'connection_lost' });
      const stat = fresh.files.stat(made, '/workspace');
      await expect(stat).rejects.toMatchObject({ code: 'unavailable' });
      local.driver = fresh;
    });
  });

  const openFresh = async () => {
    const { createLocalDriver } = await import('./index.ts');
    return { driver: createLocalDriver({ ...local, nodeBinary: process.execPath }) };
  };

  if (isRoot) {
    it("another sandbox's user on the host reaches neither socket nor files", async () => {
      const { uid } = await recordOf(other.id);
      const target = join(local.stateDirectory, 'sandboxes', ref.id, 'socket', 's');
      const probe = [
        '--reuid',
        String(uid),
        '--regid',
        String(uid),
        '--clear-groups',
        'test',
        '-e',
      ];
      await expect(run('setpriv', [...probe, target])).rejects.toMatchObject({ code: 1 });
      const mine = await recordOf(ref.id);
      expect(mine.uid).not.toBe(uid);
      expect(mine.uid).toBeGreaterThanOrEqual(20_000);
      await expect(run('test', ['-e', target])).resolves.toBeDefined();
    });

    it('works for a user without privileges', async () => {
      const nobody = 65_534;
      const stateDirectory = await mkdtemp(join(tmpdir(), 'hangar-nobody-'));
      await chown(stateDirectory, nobody, nobody);
      const { toolsDirectory } = local;
      const spec = newSpec({ resources: { pids: 40 } });
      const script =
        'id -u; ls -d /root; for i in $(seq 100); do sleep 5 & done 2>&1 | head -1; grep CapEff /proc/self/status';
      const program = { stateDirectory, toolsDirectory, isolation: 'auto', spec, script };
      const { lines, errors } = startDriverProcess({ ...program, action: 'exec' }, { uid: nobody });
      const seen: Record<string, unknown> = {};
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
        Object.assign(seen, next.value);
      }
      expect({ seen, errors: errors() }).toMatchObject({
        seen: {
          probe: { capabilities: { isolation: 'namespaces', limits: { pids: true } } },
          out: expect.stringMatching(/^1000\n[^]*(fork|unavailable)[^]*CapEff:\t0+\n$/i),
          exit: { kind: 'exited', code: 0 },
          left: [],
        },
        errors: '',
      });
      await rm(stateDirectory, { recursive: true, force: true });
    });
  }

  it('a state directory with a long path works, as do odd names', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'hangar-long-'));
    const stateDirectory = join(parent, "it's long ".padEnd(120, 'x'));
    await mkdir(stateDirectory);
    const { createLocalDriver } = await import('./index.ts');
    const driver = createLocalDriver({ ...local, stateDirectory, nodeBinary: process.execPath });
    const spec = newSpec();
    const made = await driver.create(spec);
    const exec = await driver.exec(made, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
    await driver.destroy(spec.id);
    await driver.close();
    await rm(parent, { recursive: true });
  });
});
