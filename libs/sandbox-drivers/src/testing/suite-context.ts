import { randomBytes } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import type {
  ExecRequest,
  ExitStatus,
  SandboxDriver,
  SandboxRef,
  SandboxSpec,
} from '../sandbox-driver.ts';

/** A driver with what the suite must know of it, and its end. */
export interface DriverUnderTest {
  driver: SandboxDriver;
  close(): Promise<void>;
}

export type DriverFactory = () => Promise<DriverUnderTest>;

/** Condition polls of the suite look this often and give up after `CONDITION_MS`. */
const CONDITION_POLL_MS = 10;
const CONDITION_MS = 15_000;

/** One sandbox that the tests of a section share, and short ways to use it. */
export class SuiteContext {
  private readonly factory: DriverFactory;
  private made: DriverUnderTest | undefined;
  private shared: SandboxRef | undefined;

  constructor(factory: DriverFactory) {
    this.factory = factory;
  }

  async open(): Promise<void> {
    this.made = await this.factory();
    this.shared = await this.driver.create(newSpec());
  }

  async close(): Promise<void> {
    for (const { id } of await this.driver.list()) await this.driver.destroy(id);
    await this.driver.close();
    await this.made?.close();
  }

  get driver(): SandboxDriver {
    return this.made!.driver;
  }

  get ref(): SandboxRef {
    return this.shared!;
  }

  async workspace(): Promise<string> {
    const status = await this.driver.get(this.ref.id);
    if (status?.phase !== 'ready') throw new Error('the shared sandbox is not ready');
    return status.paths.workspace;
  }

  /** Runs a shell script and collects what it prints; `ref` is the shared sandbox by default. */
  async sh(
    script: string,
    request: Partial<ExecRequest> = {},
    ref: SandboxRef = this.ref,
  ): Promise<{ out: string; err: string; exit: ExitStatus }> {
    const argv = ['sh', '-c', script];
    const exec = await this.driver.exec(ref, { argv, ...request });
    const [out, err] = await Promise.all([text(exec.stdout), text(exec.stderr)]);
    return { out, err, exit: await exec.exit };
  }

  async readFile(path: string, ref: SandboxRef = this.ref): Promise<Buffer | null> {
    const file = await this.driver.files.get(ref, path);
    return file && buffer(file.body);
  }
}

export const newSpec = (changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  id: `sbx-${randomBytes(4).toString('hex')}`,
  sessionId: `ses-${randomBytes(4).toString('hex')}`,
  cwd: '/workspace/app',
  envVars: {},
  network: 'open',
  mounts: [],
  resources: {},
  ...changes,
});

/** Waits for a condition; fails with what was being waited for. */
export const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + CONDITION_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${CONDITION_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, CONDITION_POLL_MS));
  }
};
