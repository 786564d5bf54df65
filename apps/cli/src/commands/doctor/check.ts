/** One finding. `fail`: something will not work; `warn`: it will, but look at it. */
export interface Check {
  name: string;
  result: 'ok' | 'warn' | 'fail';
  detail: string;
  /** What to do; null when all is well. */
  fix: string | null;
}

export const ok = (name: string, detail: string): Check => ({
  name,
  result: 'ok',
  detail,
  fix: null,
});

export const warn = (name: string, detail: string, fix: string): Check => ({
  name,
  result: 'warn',
  detail,
  fix,
});

export const fail = (name: string, detail: string, fix: string): Check => ({
  name,
  result: 'fail',
  detail,
  fix,
});
