/** Most characters of all needles together: about 64 MB of tables, made once and kept. */
export const NEEDLE_CHARACTERS_MAX = 2_000_000;

/** Taken once: the test runner's globals are looked up slowly, and this is the innermost loop. */
const { imul } = Math;

/** `needle` is an index into the needles given; the text from `start` to `end` was found. */
export interface Found {
  start: number;
  end: number;
  needle: number;
}

/**
 * Aho and Corasick's automaton: finds all of many strings in one pass over a text. The time does
 * not depend on how many needles there are or how alike they begin, which matters where both the
 * needles and the text come from people. Tables are typed arrays, as a secret may be a long file.
 */
export class NeedleAutomaton {
  readonly #lengths: number[];
  readonly #fail: Int32Array;
  /** Longest needle that ends in a state, or -1. */
  readonly #ending: Int32Array;
  /** Characters of a needle that a state stands for. */
  readonly #depth: Int32Array;
  /** Whether some needle goes on after a state. */
  readonly #goesOn: Uint8Array;
  /** Transitions: an open hash table from (state, character) to state. */
  readonly #keys: Float64Array;
  readonly #targets: Int32Array;
  /** Characters that begin a needle: most of a text is passed by this alone. */
  readonly #first = new Uint8Array(65_536);
  #states = 1;

  constructor(needles: readonly string[]) {
    const characters = needles.reduce((sum, needle) => sum + needle.length, 0);
    const slots = 2 ** Math.ceil(Math.log2(2 * characters + 2));
    this.#lengths = needles.map((needle) => needle.length);
    this.#fail = new Int32Array(characters + 1);
    this.#ending = new Int32Array(characters + 1).fill(-1);
    this.#depth = new Int32Array(characters + 1);
    this.#goesOn = new Uint8Array(characters + 1);
    this.#keys = new Float64Array(slots).fill(-1);
    this.#targets = new Int32Array(slots);
    this.#link(this.#insert(needles));
  }

  /** What is found, in order and without overlap: where needles overlap, all that they cover. */
  find(text: string): Found[] {
    const found: Found[] = [];
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charCodeAt(at);
      if (state === 0 && this.#first[character] === 0) continue;
      state = this.#next(state, character);
      const needle = this.#ending[state]!;
      if (needle >= 0) addFound(found, at + 1 - this.#lengths[needle]!, at + 1, needle);
    }
    return found;
  }

  /**
   * Where a text that goes on can be cut: no needle that is in it, or that may yet come of its end,
   * is cut in two. Its length when it ends with no beginning of a needle.
   */
  safeCut(text: string): number {
    let state = 0;
    for (let at = 0; at < text.length; at += 1) state = this.#next(state, text.charCodeAt(at));
    while (state !== 0 && this.#goesOn[state] === 0) state = this.#fail[state]!;
    const cut = text.length - this.#depth[state]!;
    const across = this.find(text).find(({ start, end }) => start < cut && cut < end);
    return across ? across.start : cut;
  }

  /** Gives the states of each depth: shorter beginnings have to be linked before longer ones. */
  #insert(needles: readonly string[]): Link[][] {
    const levels: Link[][] = [];
    for (const [index, needle] of needles.entries()) {
      let state = 0;
      if (needle !== '') this.#first[needle.charCodeAt(0)] = 1;
      for (let at = 0; at < needle.length; at += 1) {
        const character = needle.charCodeAt(at);
        const slot = this.#slotOf(state, character);
        if (this.#keys[slot] === -1) {
          this.#keys[slot] = keyOf(state, character);
          this.#targets[slot] = this.#states;
          this.#depth[this.#states] = at + 1;
          this.#goesOn[state] = 1;
          (levels[at] ??= []).push({ parent: state, character, state: this.#states });
          this.#states += 1;
        }
        state = this.#targets[slot]!;
      }
      if (state !== 0) this.#ending[state] = index;
    }
    return levels;
  }

  #link(levels: Link[][]): void {
    for (const { parent, character, state } of levels.flat()) {
      const fail = parent === 0 ? 0 : this.#next(this.#fail[parent]!, character);
      this.#fail[state] = fail;
      if (this.#ending[state] === -1) this.#ending[state] = this.#ending[fail]!;
    }
  }

  #next(from: number, character: number): number {
    for (let state = from; ; state = this.#fail[state]!) {
      const slot = this.#slotOf(state, character);
      if (this.#keys[slot] !== -1) return this.#targets[slot]!;
      if (state === 0) return 0;
    }
  }

  /** The slot of a transition, or the free one where it would be put. */
  #slotOf(state: number, character: number): number {
    const mask = this.#keys.length - 1;
    const key = keyOf(state, character);
    const hash = imul(state, 0x9e3779b1) ^ imul(character, 0x85ebca6b);
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (this.#keys[slot] !== -1 && this.#keys[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }
}

interface Link {
  parent: number;
  character: number;
  state: number;
}

const keyOf = (state: number, character: number): number => state * 65_536 + character;

/** Matches come by their end, so a new one may cover several before it. */
function addFound(found: Found[], start: number, end: number, needle: number): void {
  const merged = { start, end, needle };
  let longest = end - start;
  for (let last = found.at(-1); last && last.end > merged.start; last = found.at(-1)) {
    found.pop();
    if (last.end - last.start > longest) {
      longest = last.end - last.start;
      merged.needle = last.needle;
    }
    merged.start = Math.min(merged.start, last.start);
  }
  found.push(merged);
}
