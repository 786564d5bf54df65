import { StringDecoder } from 'node:string_decoder';

/** A longer line is no message of a harness; it is dropped whole, whatever follows is read. */
const LINE_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Bytes in, whole lines out, without their newlines; what comes last without one waits. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  #rest: string[] = [];
  #length = 0;
  #dropping = false;

  push(chunk: Uint8Array): string[] {
    const lines: string[] = [];
    const pieces = this.#decoder.write(Buffer.from(chunk)).split('\n');
    for (const [index, piece] of pieces.entries()) {
      this.#keep(piece);
      if (index < pieces.length - 1) {
        if (!this.#dropping) lines.push(this.#rest.join(''));
        this.#rest = [];
        this.#length = 0;
        this.#dropping = false;
      }
    }
    return lines;
  }

  #keep(piece: string): void {
    if (this.#dropping) return;
    this.#rest.push(piece);
    this.#length += piece.length;
    if (this.#length <= LINE_CHARACTERS_MAX) return;
    this.#dropping = true;
    this.#rest = [];
  }
}
