import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The scripted model server of tools/model-server, as a process beside the demo. */
export interface Model {
  url: string;
  /** What it was asked so far, oldest first. */
  requests(): Promise<{ userTexts: string[] }[]>;
  /** What it does next, in the words of tools/model-server/src/script.ts. */
  script(steps: string): Promise<void>;
  close(): Promise<void>;
}

export async function startModel(root: string): Promise<Model> {
  const child = spawn(process.execPath, [join(root, 'tools/model-server/main.ts'), '--port', '0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = /http:\/\/\S+/.exec(line)?.[0] ?? '';
  return {
    url,
    requests: async () => {
      const answer = await fetch(`${url}/_requests`);
      const { requests } = (await answer.json()) as { requests: { userTexts: string[] }[] };
      return requests;
    },
    script: async (steps) => {
      await fetch(`${url}/_script`, { method: 'POST', body: steps });
    },
    close: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
