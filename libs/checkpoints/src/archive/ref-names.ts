/** git's rules for names of refs (git-check-ref-format), for names that come from outside. */

const FORBIDDEN = /[ ~^:?*[\\]/;
const isControl = (character: string): boolean => character < ' ' || character === '\x7f';

/** A path of a ref on disk must stay usable. */
const REF_BYTES_MAX = 1024;

export function isRefName(name: string): boolean {
  if (!name.startsWith('refs/') || name.length > REF_BYTES_MAX) return false;
  if (
    FORBIDDEN.test(name) ||
    Array.from(name).some(isControl) ||
    name.includes('..') ||
    name.includes('@{')
  )
    return false;
  if (name.endsWith('.')) return false;
  return name
    .split('/')
    .every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

export const isObjectId = (id: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id);
