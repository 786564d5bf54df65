import { HangarError, type EnvironmentDocument, type Page } from '@hangar/contracts';
import type { DataSource } from 'typeorm';
import { EnvironmentView } from './environment.view.ts';

/** Environments that one owner can have in a list; more than anybody keeps in mind. */
const ENVIRONMENTS_LISTED_MAX = 1000;

export class EnvironmentReader {
  readonly #source: DataSource;

  constructor(source: DataSource) {
    this.#source = source;
  }

  /** Throws `not_found`, also for another owner's [Z1]. */
  async get(owner: string, name: string): Promise<EnvironmentDocument> {
    const row = await this.find(owner, name);
    if (row) return row;
    throw new HangarError('not_found', `You have no environment called ${name}.`, {
      hint: 'Define it first: hangar env apply -f FILE, or POST /api/environments.',
    });
  }

  async find(owner: string, name: string): Promise<EnvironmentDocument | null> {
    const row = await this.#source.getRepository(EnvironmentView).findOneBy({ owner, name });
    return row ? environmentDocument(row) : null;
  }

  async list(owner: string): Promise<Page<EnvironmentDocument>> {
    const rows = await this.#source
      .getRepository(EnvironmentView)
      .find({ where: { owner }, order: { name: 'ASC' }, take: ENVIRONMENTS_LISTED_MAX });
    return { items: rows.map(environmentDocument), next_cursor: null };
  }
}

const environmentDocument = (row: EnvironmentView): EnvironmentDocument => ({
  name: row.name,
  owner: row.owner,
  version: row.version,
  recipe: row.recipe,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
