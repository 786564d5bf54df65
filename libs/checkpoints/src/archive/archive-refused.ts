/**
 * Why a part may not be unpacked. `corrupt` is damage (truncated, bad checksum), `refused` is content
 * that would reach where it may not (R10). Free of the control plane's libraries: the tool inside
 * the sandbox checks again with the same code.
 */
export class ArchiveRefused extends Error {
  readonly code: 'refused' | 'corrupt';

  constructor(code: 'refused' | 'corrupt', message: string) {
    super(message);
    this.name = 'ArchiveRefused';
    this.code = code;
  }
}
