const SHOWN = '[redacted]';

/**
 * Where a token may begin: not inside a word, but also right behind an escaped line end (`\n` in
 * a line of JSON). Where a look-behind stands, it also keeps the time linear: a run of letters is
 * tried from its start only, not from each letter.
 */
const START = String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))`;

/** Well-known tokens. Each ends with its only unbounded part, so nothing is scanned twice. */
const TOKENS: readonly RegExp[] = [
  /sk-ant-[A-Za-z0-9_-]{16,}/g,
  new RegExp(`${START}sk-(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{20,}`, 'g'),
  /gh[pousr]_[A-Za-z0-9]{20,}/g,
  /github_pat_[A-Za-z0-9_]{20,}/g,
  /glpat-[A-Za-z0-9_-]{16,}/g,
  /npm_[A-Za-z0-9]{36,}/g,
  /xox[a-z]-[A-Za-z0-9-]{10,}/g,
  /xapp-[A-Za-z0-9-]{10,}/g,
  /hgr_[A-Za-z0-9]{32,}/g,
  /AIza[A-Za-z0-9_-]{35,}/g,
  new RegExp(`${START}(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])`, 'g'),
  new RegExp(`${START}eyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}`, 'g'),
];

/** `Bearer <token>` and `Basic <base64>` in a header, whatever the token looks like. */
const AUTHORIZATION = /\b(Bearer|Basic)([ ]{1,4})[A-Za-z0-9._~+/=-]{16,}/gi;

/** The part of a URL before `@`, up to the last one, for a password may hold one as well. */
const USER_INFO = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/)([^\s/?#"'<>\\]{1,2048})@/gi;
/** A user name alone is no secret (`git@`), but a token may stand in its place. */
const BARE_USER_CHARACTERS_MAX = 20;

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
/** Nothing follows the repetition, so it never fails and never goes back. */
const KEY_LINES = /(?:\s|\\[nr]|[A-Za-z0-9+/=]{24,})*/y;
/** The largest key in use (RSA 16384) is 12 KiB as text. */
const KEY_CHARACTERS_MAX = 16 * 1024;

/** Hides what looks like a token, key or password, without knowing any. Linear in the text. */
export function redactShapes(text: string): string {
  let shown = redactKeys(text);
  for (const token of TOKENS) shown = shown.replace(token, SHOWN);
  shown = shown.replace(AUTHORIZATION, `$1$2${SHOWN}`);
  return shown.replace(USER_INFO, (whole, scheme: string, userInfo: string) => {
    const colon = userInfo.indexOf(':');
    if (colon >= 0) return `${scheme}${userInfo.slice(0, colon)}:${SHOWN}@`;
    return userInfo.length > BARE_USER_CHARACTERS_MAX ? `${scheme}${SHOWN}@` : whole;
  });
}

/**
 * Hides private keys from BEGIN to END. Where the end was cut off, the lines that could be key
 * material go; a text that only mentions the first line keeps what follows.
 */
function redactKeys(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  KEY_BEGIN.lastIndex = 0;
  for (let begin = KEY_BEGIN.exec(text); begin; begin = KEY_BEGIN.exec(text)) {
    const end = keyEnd(text, KEY_BEGIN.lastIndex);
    parts.push(text.slice(copied, begin.index), SHOWN);
    copied = end;
    KEY_BEGIN.lastIndex = end;
  }
  return copied === 0 ? text : parts.join('') + text.slice(copied);
}

function keyEnd(text: string, from: number): number {
  const end = text.slice(from, from + KEY_CHARACTERS_MAX).indexOf('-----END ');
  KEY_END.lastIndex = from + end;
  if (end >= 0 && KEY_END.test(text)) return KEY_END.lastIndex;
  KEY_LINES.lastIndex = from;
  KEY_LINES.test(text);
  return Math.max(from, KEY_LINES.lastIndex);
}
