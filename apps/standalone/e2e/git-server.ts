import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A git server over https whose tokens are good for as long as a test says. */
export interface GitServer {
  /** `127.0.0.1:PORT`, as a recipe names it. */
  host: string;
  /** Of a repository below the root. */
  url(path: string): string;
  /** The certificate, for `GIT_SSL_CAINFO`. */
  certificate: string;
  /** Is the password good now? */
  isGood: (password: string) => boolean;
  /** Each user name and password that came, and whether it was good; oldest first. */
  readonly seen: { path: string; user: string; password: string; isGood: boolean }[];
  close(): Promise<void>;
}

/** `root` holds bare repositories; the certificate is put beside them. */
export async function startGitServer(root: string, backend: string): Promise<GitServer> {
  const [key, certificate] = [join(root, 'key.pem'), join(root, 'certificate.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', ...kind, '-days', '2', ...subject, ...files], {
    stdio: 'ignore',
  });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const git: GitServer = {
    host,
    url: (path) => `https://${host}/${path}`,
    certificate,
    isGood: () => false,
    seen: [],
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', `https://${host}`);
    const given = request.headers.authorization?.replace(/^Basic /, '') ?? '';
    const [user = '', ...rest] = Buffer.from(given, 'base64').toString('utf8').split(':');
    const password = rest.join(':');
    const isGood = git.isGood(password);
    if (given) git.seen.push({ path: url.pathname, user, password, isGood });
    if (!isGood) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    answer(root, backend, url, request, response);
  });
  return git;
}

/** As a web server runs `git http-backend`. */
function answer(
  root: string,
  backend: string,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const child = spawn(backend, [], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'someone',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on('data', (chunk: Buffer) => {
    if (isBody) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    isBody = true;
    for (const line of head.subarray(0, end).toString('utf8').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name.toLowerCase() === 'status') response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
  });
  child.stdout.on('end', () => response.end());
}
