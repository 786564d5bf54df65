/**
 * The code of a system error (`ENOENT`). By its shape and not by `instanceof`, because errors of
 * the file system belong to another realm where code runs in a VM context.
 */
export const errorCode = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
};
