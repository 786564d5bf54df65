import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A key of a creating request [M2]: what was asked with it, and the answer once there is one. */
@Entity({ schema: 'gateway', name: 'idempotency_key' })
@Index('idempotency_key_age', ['at'])
export class IdempotencyKey {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_key_key' }) owner: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_key_key' }) key: string;
  /** SHA-256 of method, path and body, sealed: a bare hash would betray a short secret. */
  @Column({ type: 'bytea' }) request: Buffer;
  /** Status and body as JSON, sealed: an answer may hold an access token. */
  @Column({ type: 'bytea', nullable: true }) answer: Buffer | null;
  @Column({ type: 'timestamptz' }) at: Date;
  /** What the ids of what is made with this key are derived from. */
  @Column({ type: 'uuid' }) seed: string;
}
