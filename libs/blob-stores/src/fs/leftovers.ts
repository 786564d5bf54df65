import { walkTemporary } from './walk.ts';

/** Temporary files below a store's directory: what a failed put must not leave. */
export async function leftoversIn(directory: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of walkTemporary(directory)) paths.push(path);
  return paths;
}
