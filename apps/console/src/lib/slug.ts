import { NAME_CHARACTERS_MAX } from '@hangar/contracts';

/** A name that is allowed, made of what a person typed; empty when nothing of it can be used. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_CHARACTERS_MAX)
    .replaceAll(/^-+|-+$/g, '');
