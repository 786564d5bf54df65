/** Waits for a signal with three parts; argv says what the middle one does: well, fail or hang. */
import { closeOnSignal } from './close-on-signal.ts';

const [what] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

class Part {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  async close(): Promise<void> {
    say(`closing ${this.name}`);
    if (this.name !== 'middle' || what === 'well') return;
    if (what === 'fail') throw new Error('the middle broke');
    await new Promise(() => undefined);
  }
}

closeOnSignal([new Part('first'), new Part('middle'), new Part('last')], { deadlineMillis: 300 });
setInterval(() => undefined, 60_000);
say('ready');
