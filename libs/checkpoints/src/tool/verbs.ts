import { capture } from './capture.ts';
import { changes, fingerprint } from './changes-live.ts';
import { readRequest } from './requests.ts';
import { restore } from './restore.ts';
import { ToolError } from './tool-error.ts';

/** From inside, every path is shorter, and the kernel has less to look up for each file. */
function inside<T extends { work: string }>(request: T): T {
  try {
    process.chdir(request.work);
  } catch {
    // What is the matter with it shows when it is read.
  }
  return request;
}

/** One request, by its verb. The process may be in the request's work directory afterwards. */
export async function runVerb(verb: string | undefined, body: unknown): Promise<unknown> {
  switch (verb) {
    case 'capture':
      return capture(inside(readRequest('capture', body)));
    case 'restore':
      return restore(readRequest('restore', body));
    case 'fingerprint':
      return fingerprint(inside(readRequest('fingerprint', body)));
    case 'changes':
      return changes(inside(readRequest('changes', body)));
    default:
      throw new ToolError(
        'invalid',
        'usage: hangar-checkpoint capture|restore|fingerprint|changes|serve',
      );
  }
}
