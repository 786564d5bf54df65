import type { ProtocolInput, ProtocolStep } from './harness-adapter.ts';

const NOTHING: ProtocolStep = { events: [], inputs: [] };

/** For a protocol over which nobody can speak with the agent while it works. */
export class NotLive {
  steer({ messageId }: { messageId: string; text: string }): ProtocolStep {
    return { events: [{ type: 'returned', messageId }], inputs: [] };
  }

  withdraw(): ProtocolStep {
    return NOTHING;
  }

  answer(): ProtocolStep {
    return NOTHING;
  }

  defer(): ProtocolStep {
    return NOTHING;
  }

  interrupt(): ProtocolInput[] {
    return [];
  }
}
