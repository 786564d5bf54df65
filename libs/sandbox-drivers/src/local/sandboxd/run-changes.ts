import { watch, type FSWatcher } from 'node:fs';

/** Without inotify (its instances are limited per user) the files are looked at this often. */
const POLL_MS = 40;
/** With inotify this is only a net under it. */
const SAFETY_MS = 500;

/**
 * Wakes those who follow a run when its files changed. `version` is read before the files are,
 * so a change in between is never slept through.
 */
export class RunChanges {
  version = 0;
  private readonly path: string;
  private watcher: FSWatcher | undefined;
  private watchable = true;
  private waiters: (() => void)[] = [];

  constructor(path: string) {
    this.path = path;
  }

  async after(seen: number): Promise<void> {
    if (this.version !== seen) return;
    this.ensureWatcher();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.wake(), this.watcher ? SAFETY_MS : POLL_MS);
      this.waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  wake(): void {
    this.version++;
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  close(): void {
    this.watcher?.close();
    this.watcher = undefined;
    this.watchable = false;
    this.wake();
  }

  private ensureWatcher(): void {
    if (this.watcher || !this.watchable) return;
    try {
      this.watcher = watch(this.path, () => this.wake());
      this.watcher.on('error', () => this.close());
    } catch {
      this.watchable = false;
    }
  }
}
