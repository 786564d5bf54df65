/** A wait that ends early when somebody has work; a call while nobody waits is remembered. */
export interface Sleeper {
  sleep(ms: number): Promise<void>;
  wake(): void;
}

export function createSleeper(): Sleeper {
  let isWoken = false;
  let end: (() => void) | undefined;
  return {
    wake: () => {
      isWoken = true;
      end?.();
    },
    sleep: async (ms) => {
      if (!isWoken && ms > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      end = undefined;
      isWoken = false;
    },
  };
}
