/**
 * A process that uses a store and is killed, or runs into the file size limit, in the middle.
 * argv: `hang <directory> <key>` puts some bytes, says so and waits for ever; `fill <directory>
 * <bytes>` fills the store and prints the outcome as JSON.
 */
import { Readable } from 'node:stream';
import { fillStore } from '../testing/full-store.ts';
import { leftoversIn } from './leftovers.ts';
import { openFsBlobStore } from './store.ts';

const [what, directory = '', argument = ''] = process.argv.slice(2);
const store = await openFsBlobStore(directory);
if (what === 'hang') {
  let chunksGiven = 0;
  const source = new Readable({
    read() {
      chunksGiven += 1;
      if (chunksGiven <= 32) this.push(Buffer.alloc(64 * 1024, chunksGiven));
      else process.stdout.write('waiting\n');
    },
  });
  // Without a timer an idle source would let the process end, which is not what is tested.
  setInterval(() => undefined, 60_000);
  await store.put(argument, source);
} else {
  // The default action of the signal would end the process before the error can be seen.
  process.on('SIGXFSZ', () => undefined);
  const outcome = await fillStore(store, Number(argument), () => leftoversIn(directory));
  process.stdout.write(JSON.stringify(outcome));
}
