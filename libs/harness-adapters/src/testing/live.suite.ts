/**
 * Live work with a harness: messages, answers and leave while it works [M3] [M4] [A1] to [A4].
 * What is tried follows from the adapter's capabilities.
 */
import { expect, it } from '@jest/globals';
import type { HarnessCapabilities, HarnessEvent } from '../harness-adapter.ts';
import { describeApprovals, describeQuestions } from './asks.suite.ts';
import type { HarnessBench } from './harness-bench.ts';
import { replayTurn } from './harness-process.ts';
import {
  HELD,
  TURNS_MILLISECONDS_MAX,
  all,
  answers,
  asked,
  isHeld,
  release,
} from './live-bench.ts';
import { describeSteering } from './steering.suite.ts';

export function describeLive(bench: () => HarnessBench, has: HarnessCapabilities): void {
  if (has.steer) describeSteering(bench, has);
  if (has.questions) describeQuestions(bench);
  if (has.approvals) describeApprovals(bench);
  if (has.steer || has.questions) describeReplay(bench, has);
}

function describeReplay(bench: () => HarnessBench, has: HarnessCapabilities): void {
  it(
    'writes nothing new when its output is read again and people did everything before [M6]',
    async () => {
      const { home, setting, spec, start } = bench();
      const question = has.questions ? 'ask: Which one? | Red | Blue ;;' : '';
      const prompt = `[[ ${question} ${HELD} ;; run: echo two > two.txt ;; say: done ]]`;
      const spoken = spec({ prompt, asksLeave: has.approvals });
      const process = await start(spoken);
      let count = 0;
      if (has.questions) {
        const ask = await asked(process, (count += 1));
        process.answer(ask.id, answers(ask, 'Red'));
      }
      if (has.approvals) process.answer((await asked(process, (count += 1))).id, {});
      await isHeld(process, home);
      if (has.steer) process.steer('steer-1', 'mind the gap-6');
      if (has.steer) process.steer('steer-2', 'mind the gap-7');
      if (has.withdraw) process.withdraw('steer-1');
      if (has.withdraw) await process.until(({ type }) => type === 'returned');
      await release(home);
      if (has.approvals) {
        const ask = await asked(process, (count += 1));
        process.answer(ask.id, { verdict: 'deny', reason: 'no' });
      }
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('succeeded');
      expect(all(turn.events, 'asked')).toHaveLength(count);
      const protocol = setting.adapter.protocol(spoken);
      const again = replayTurn(protocol, turn);
      const sorted = (events: HarnessEvent[]): string[] =>
        events.map((event) => JSON.stringify(event)).toSorted();
      expect(again.keys.toSorted()).toEqual(turn.keys.toSorted());
      expect(sorted(again.events)).toEqual(sorted(turn.events));
      expect(protocol.exited(turn.exit, '')).toEqual(turn.result);
    },
    TURNS_MILLISECONDS_MAX,
  );
}
