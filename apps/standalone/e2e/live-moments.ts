import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import type { CardDocument, CreateSessionInput, SessionDocument } from '@hangar/contracts';
import { startGitServer, type GitServer } from './git-server.ts';
import { WAIT_SECONDS, again, sessionWhere, shell, until } from './workplace.ts';

/**
 * A place in live work at which hangar is killed. It is come to once in each round, with the same
 * session and sandbox: what went wrong in one round is still seen after the last.
 */
export interface Moment {
  name: string;
  /** Of its session. */
  session: Partial<CreateSessionInput>;
  /** What is sent to begin round `n`; what it does leaves one line `n` of done.txt. */
  message(n: number): string;
  /** Brings the turn to the place. */
  arrive(scene: Scene, n: number): Promise<void>;
  /** The last thing before the kill; hangar has confirmed it when this returns. */
  act?(scene: Scene, n: number): Promise<void>;
  /** After the kill: whatever the turn still waits for. */
  goOn(scene: Scene, n: number): Promise<void>;
  /** What round `n` has the agent say, in order. */
  says(n: number): string[];
}

type Answer = { text: string } | { verdict: 'allow' };

/** One moment's session, and what a person does with it. */
export class Scene {
  readonly client: HangarClient;
  readonly ref: string;
  readonly gate: Gate;
  #asked: CardDocument | null = null;

  constructor(client: HangarClient, ref: string, gate: Gate) {
    this.client = client;
    this.ref = ref;
    this.gate = gate;
  }

  isThere(file: string): Promise<void> {
    return until(`${this.ref} has ${file}`, async () => {
      const done = await this.client.sandboxes.exec(this.ref, { argv: ['test', '-s', file] });
      return done.exit_code === 0;
    });
  }

  shell(script: string): Promise<string> {
    return again(() => shell(this.client, this.ref, script));
  }

  where(at: (session: SessionDocument) => boolean): Promise<SessionDocument> {
    return again(() => sessionWhere(this.client, this.ref, at, WAIT_SECONDS * 1000));
  }

  async card(): Promise<CardDocument> {
    const { attention } = await this.where((session) => session.attention.length > 0);
    return attention[0]!;
  }

  /** Arrives at a card; what is done just before a kill then begins with the answer itself. */
  async isAsked(): Promise<void> {
    this.#asked = await this.card();
  }

  /** The card is there, also after a kill. */
  async answerOpen(body: Answer): Promise<void> {
    await this.isAsked();
    await this.answer(body);
  }

  async answer(body: Answer): Promise<void> {
    const id = this.#asked?.id ?? '';
    await again(() => this.client.sessions.answer(this.ref, id, body));
  }
}

const done = (n: number): string => `run: echo ${n} >>done.txt`;
const noted = async (): Promise<void> => undefined;

export const MOMENTS: Moment[] = [
  {
    name: 'a steer is offered, and not confirmed',
    session: {},
    message: (n) => `[[ run: echo held >held-${n}.txt ;; until: go-${n}.txt ;; say: let go ${n} ]]`,
    arrive: async (scene, n) => {
      await scene.isThere(`held-${n}.txt`);
    },
    act: async ({ client, ref }, n) => {
      await client.sessions.send(ref, { message: `[[ ${done(n)} ;; say: steered ${n} ]]` });
    },
    goOn: async (scene, n) => void (await scene.shell(`echo go >go-${n}.txt`)),
    says: (n) => [`let go ${n}`, `steered ${n}`],
  },
  {
    name: 'a question is open',
    session: {},
    message: (n) => `[[ ask: Which ${n}? | A | B ;; ${done(n)} ;; say: on ${n} ]]`,
    arrive: (scene) => scene.isAsked(),
    goOn: (scene) => scene.answerOpen({ text: 'A' }),
    says: (n) => ['answered: A', `on ${n}`],
  },
  {
    name: 'an answer was given just before',
    session: {},
    message: (n) => `[[ ask: Which ${n}? | A | B ;; ${done(n)} ;; say: on ${n} ]]`,
    arrive: (scene) => scene.isAsked(),
    act: (scene) => scene.answer({ text: 'B' }),
    goOn: noted,
    says: (n) => ['answered: B', `on ${n}`],
  },
  {
    name: 'a tool call waits for leave',
    session: { permissions: { mode: 'ask' } },
    message: (n) => `[[ ${done(n)} ;; say: had leave ${n} ]]`,
    arrive: (scene) => scene.isAsked(),
    goOn: (scene) => scene.answerOpen({ verdict: 'allow' }),
    says: (n) => [`had leave ${n}`],
  },
  {
    name: 'leave was given just before',
    session: { permissions: { mode: 'ask' } },
    message: (n) => `[[ ${done(n)} ;; say: had leave ${n} ]]`,
    arrive: (scene) => scene.isAsked(),
    act: (scene) => scene.answer({ verdict: 'allow' }),
    goOn: noted,
    says: (n) => [`had leave ${n}`],
  },
  {
    name: 'a credential is being fetched',
    session: { environment: 'private' },
    message: (n) =>
      `[[ ${done(n)} ++ run: git commit -q --allow-empty -m push-${n} && git push -q origin HEAD ` +
      `;; say: pushed ${n} ]]`,
    arrive: ({ gate }) => until('a credential is asked for', async () => gate.isAsked()),
    goOn: async ({ gate }) => gate.open(),
    says: (n) => [`pushed ${n}`],
  },
];

/** A private repository whose credential is there when a test says so. */
export class Gate {
  readonly program: string;
  readonly url: string;
  readonly environment: object;
  readonly #root: string;
  readonly #server: GitServer;

  private constructor(root: string, server: GitServer) {
    this.#root = root;
    this.#server = server;
    this.program = join(root, 'credential');
    this.url = server.url('acme/app.git');
    this.environment = {
      env: { GIT_SSL_CAINFO: CERTIFICATE },
      mounts: [{ source: server.certificate, target: CERTIFICATE }],
      git: [{ host: server.host, secret: 'GATED', username: 'bot' }],
    };
  }

  static async start(repo: string): Promise<Gate> {
    const root = mkdtempSync(join(tmpdir(), 'hangar-gate-'));
    chmodSync(root, 0o755);
    mkdirSync(join(root, 'acme'));
    const bare = join(root, 'acme', 'app.git');
    git('clone', '-q', '--bare', repo, bare);
    git('-C', bare, 'config', 'http.receivepack', 'true');
    const server = await startGitServer(root, join(git('--exec-path').trim(), 'git-http-backend'));
    chmodSync(server.certificate, 0o644);
    server.isGood = (password) => password === PASSWORD;
    const gate = new Gate(root, server);
    writeFileSync(gate.program, gatedCommand(root), { mode: 0o755 });
    return gate;
  }

  /** From now on, who asks waits. */
  close(): void {
    writeFileSync(join(this.#root, 'closed'), '');
    rmSync(join(this.#root, 'asked'), { force: true });
  }

  open(): void {
    rmSync(join(this.#root, 'closed'), { force: true });
  }

  isAsked(): boolean {
    return existsSync(join(this.#root, 'asked'));
  }

  /** Subjects of what was pushed, the newest first. */
  pushed(): string[] {
    const log = git('-C', join(this.#root, 'acme', 'app.git'), 'log', '--format=%s', '--all');
    return log.split('\n').filter((subject) => subject.startsWith('push-'));
  }

  async dispose(): Promise<void> {
    this.open();
    await this.#server.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

const CERTIFICATE = '/hangar-test/certificate.pem';
const PASSWORD = 'open-sesame-1';
/** Of a twentieth of a second each: an ask that was left alone by a kill ends, too. */
const ASKS_MAX = 1200;

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * Answers for sessions when the gate is open, and for hangar's own copy of the remote at once. What
 * it gives has ended already, so that each push asks anew.
 */
const gatedCommand = (root: string): string => `#!/bin/sh
case "$(cat)" in *'"session":"ses-'*)
  n=0
  while [ -e ${root}/closed ] && [ $n -lt ${ASKS_MAX} ]; do
    echo x >${root}/asked; sleep 0.05; n=$((n + 1))
  done ;;
esac
printf '{"username":"bot","password":"${PASSWORD}","expires_at":"2020-01-01T00:00:00Z"}'
`;
