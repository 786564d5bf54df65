import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HangarError } from '@hangar/contracts';

export const URL_DEFAULT = 'http://127.0.0.1:7700';
const TOKEN_BYTES_MAX = 4096;

/** Which server, as whom, and where that was read. */
export interface Connection {
  url: string;
  token: string | undefined;
  /** For people: `HANGAR_TOKEN`, a file, or why there is none. */
  tokenSource: string;
  /** The file is readable by others than its owner. */
  tokenIsOpen: boolean;
  /** Of a server on this machine; it may not exist. */
  stateDirectory: string;
}

export interface ConnectionInput {
  env: Record<string, string | undefined>;
  cwd: string;
  /** The checkout this command belongs to: where `npm start` keeps its state. */
  root: string;
  url?: string | undefined;
  tokenFile?: string | undefined;
}

/**
 * `--url`, HANGAR_URL, then the default; `--token-file`, HANGAR_TOKEN, then the file `token` of
 * the local state directory. That last one is for the server of this machine only: the key of a
 * local server is never sent to another host.
 */
export function findConnection(input: ConnectionInput): Connection {
  const url = serverUrl(input.url ?? input.env['HANGAR_URL'] ?? URL_DEFAULT);
  const stateDirectory = findStateDirectory(input);
  const found = { url, stateDirectory, tokenIsOpen: false };
  if (input.tokenFile !== undefined) {
    const path = resolve(input.cwd, input.tokenFile);
    const read = readToken(path);
    if (read === null) {
      throw new HangarError('invalid', `There is no token file ${path}.`, {
        hint: 'Name a file that holds a token and nothing else.',
      });
    }
    return { ...found, ...read, tokenSource: path };
  }
  const given = input.env['HANGAR_TOKEN'];
  if (given) return { ...found, token: given.trim(), tokenSource: 'HANGAR_TOKEN' };
  const path = join(stateDirectory, 'token');
  if (!isThisMachine(url)) {
    const tokenSource = `none: set HANGAR_TOKEN (${path} is only for a server on this machine)`;
    return { ...found, token: undefined, tokenSource };
  }
  const read = readToken(path);
  if (read) return { ...found, ...read, tokenSource: path };
  return { ...found, token: undefined, tokenSource: `none: no HANGAR_TOKEN and no ${path}` };
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw new HangarError('invalid', `${text} is not the address of a server.`, {
      hint: `Use one like ${URL_DEFAULT}, without a user name or password.`,
    });
  }
  return url.href.replace(/\/+$/, '');
}

function findStateDirectory({ env, cwd, root }: ConnectionInput): string {
  const named = env['HANGAR_STATE'];
  if (named) return resolve(cwd, named);
  const here = resolve(cwd, '.hangar');
  return statSync(here, { throwIfNoEntry: false }) ? here : join(root, '.hangar');
}

const isThisMachine = (url: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname);

function readToken(path: string): { token: string; tokenIsOpen: boolean } | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return null;
  if (!stat.isFile() || stat.size > TOKEN_BYTES_MAX) {
    throw new HangarError('invalid', `${path} does not look like a token file.`, {
      hint: `It should hold one token, at most ${TOKEN_BYTES_MAX} bytes.`,
    });
  }
  const token = readFileSync(path, 'utf8').trim();
  if (token === '') {
    throw new HangarError('invalid', `The token file ${path} is empty.`, {
      hint: 'Write the token into it, or set HANGAR_TOKEN.',
    });
  }
  return { token, tokenIsOpen: (stat.mode & 0o077) !== 0 };
}
