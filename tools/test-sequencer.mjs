import Sequencer from '@jest/test-sequencer';

/**
 * The longest files, the longest first. Jest orders by its own record of earlier runs, and a fresh
 * clone has none: it then goes by the size of the file, and a suite's runner is a short one. A
 * long file that starts last leaves one core without work.
 */
const LONGEST = [
  'opencode.adapter',
  'claude-code.adapter',
  'gemini.adapter',
  'remote.int',
  'pi.adapter',
  'plain.int',
  'archive.int',
  'acceptance.e2e',
  'crash-matrix.e2e',
  'journeys.e2e',
  'recovery.e2e',
  'delivery.e2e',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(`/${name}.`));
      return found < 0 ? LONGEST.length : found;
    };
    return super.sort(tests).toSorted((a, b) => place(a) - place(b));
  }
}
