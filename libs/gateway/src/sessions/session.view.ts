import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Ask, Permissions, SandboxPlace } from '@hangar/contracts';
import { VIEW_SCHEMA } from '../views/view-tables.ts';

export interface TalkView {
  terminal_id: string;
  since: string;
}

/** A session's own row; `DELETED` rows stay as a mark of whose the session was. */
@Entity({ schema: VIEW_SCHEMA, name: 'session_view' })
@Index('session_view_name', ['owner', 'name'])
@Index('session_view_recent', ['owner', 'created_at', 'id'])
export class SessionView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'session_view_key' }) id: string;
  @Column({ type: 'text' }) name: string;
  @Column({ type: 'text' }) title: string;
  @Column({ type: 'text' }) owner: string;
  @Column({ type: 'text' }) environment: string;
  @Column({ type: 'text' }) harness: string;
  @Column({ type: 'text', nullable: true }) model: string | null;
  @Column({ type: 'text', nullable: true }) repo: string | null;
  @Column({ type: 'text', nullable: true }) base_branch: string | null;
  @Column({ type: 'text' }) branch: string;
  @Column({ type: 'text' }) cwd: string;
  @Column({ type: 'text', nullable: true }) harness_session: string | null;
  @Column({ type: 'text' }) conversation: string;
  @Column({ type: 'text', nullable: true }) sandbox_id: string | null;
  @Column({ type: 'jsonb', nullable: true }) place: SandboxPlace | null;
  @Column({ type: 'text' }) state: string;
  @Column({ type: 'text' }) state_reason: string;
  @Column({ type: 'text', nullable: true }) start_phase: string | null;
  /** The checkpoint that is being taken. */
  @Column({ type: 'text', nullable: true }) checkpointing: string | null;
  @Column({ type: 'jsonb', nullable: true }) continuity: object | null;
  @Column({ type: 'integer' }) idle_minutes: number;
  @Column({ type: 'integer' }) turn_minutes: number;
  @Column({ type: 'integer' }) checkpoints_kept_max: number;
  @Column({ type: 'jsonb' }) permissions: Permissions;
  /** Somebody talks with the agent itself. */
  @Column({ type: 'jsonb', nullable: true }) talk: TalkView | null;
  @Column({ type: 'timestamptz' }) created_at: Date;
  @Column({ type: 'timestamptz' }) last_active_at: Date;
  @Column({ type: 'timestamptz' }) updated_at: Date;
  @Column({ type: 'integer' }) version: number;
}

@Entity({ schema: VIEW_SCHEMA, name: 'turn_view' })
export class TurnView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'turn_view_key' }) session_id: string;
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'turn_view_key' }) number: number;
  @Column({ type: 'text' }) run_id: string;
  @Column({ type: 'text' }) message_id: string;
  @Column({ type: 'text' }) message: string;
  @Column({ type: 'timestamptz' }) requested_at: Date;
  @Column({ type: 'timestamptz', nullable: true }) started_at: Date | null;
  @Column({ type: 'timestamptz', nullable: true }) finished_at: Date | null;
  @Column({ type: 'text', nullable: true }) outcome: string | null;
  @Column({ type: 'integer', nullable: true }) exit_code: number | null;
  @Column({ type: 'text' }) summary: string;
  @Column({ type: 'jsonb', nullable: true }) usage: object | null;
  @Column({ type: 'text', nullable: true }) error: string | null;
  @Column({ type: 'text', nullable: true }) conversation: string | null;
  @Column({ type: 'text', nullable: true }) checkpoint_id: string | null;
}

/** `ordinal`: their number within the session, in the order in which they were asked for. */
@Entity({ schema: VIEW_SCHEMA, name: 'checkpoint_view' })
export class CheckpointView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'checkpoint_view_key' })
  session_id: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'checkpoint_view_key' }) id: string;
  @Column({ type: 'integer' }) ordinal: number;
  @Column({ type: 'text' }) reason: string;
  @Column({ type: 'integer' }) turn: number;
  @Column({ type: 'timestamptz' }) taken_at: Date;
  @Column({ type: 'boolean' }) complete: boolean;
  @Column({ type: 'text', nullable: true }) head: string | null;
  @Column({ type: 'text', nullable: true }) base: string | null;
  @Column({ type: 'double precision' }) bytes: number;
  @Column({ type: 'jsonb' }) parts: object[];
  @Column({ type: 'jsonb' }) skipped: object[];
  @Column({ type: 'jsonb' }) warnings: object[];
}

@Entity({ schema: VIEW_SCHEMA, name: 'message_view' })
export class MessageView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'message_view_key' })
  session_id: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'message_view_key' })
  message_id: string;
  @Column({ type: 'integer' }) ordinal: number;
  @Column({ type: 'text' }) text: string;
  @Column({ type: 'text' }) mode: string;
  @Column({ type: 'text' }) status: string;
  @Column({ type: 'text', nullable: true }) reason: string | null;
  @Column({ type: 'integer', nullable: true }) turn: number | null;
  /** To the turn that runs. */
  @Column({ type: 'boolean' }) offered: boolean;
  @Column({ type: 'timestamptz' }) queued_at: Date;
}

@Entity({ schema: VIEW_SCHEMA, name: 'card_view' })
export class CardView {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'card_view_key' }) session_id: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'card_view_key' }) id: string;
  @Column({ type: 'integer' }) ordinal: number;
  @Column({ type: 'text' }) kind: string;
  @Column({ type: 'text' }) text: string;
  @Column({ type: 'jsonb' }) choices: string[];
  @Column({ type: 'jsonb', nullable: true }) asked: Ask | null;
  @Column({ type: 'integer', nullable: true }) turn: number | null;
  @Column({ type: 'timestamptz' }) since: Date;
}
