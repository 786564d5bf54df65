import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Recipe } from '@hangar/contracts';
import { VIEW_SCHEMA } from '../views/view-tables.ts';

@Entity({ schema: VIEW_SCHEMA, name: 'environment_view' })
export class EnvironmentView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'environment_view_key' })
  owner: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'environment_view_key' }) name: string;
  @Column({ type: 'integer' }) version: number;
  @Column({ type: 'jsonb' }) recipe: Recipe;
  @Column({ type: 'timestamptz' }) created_at: Date;
  @Column({ type: 'timestamptz' }) updated_at: Date;
}
