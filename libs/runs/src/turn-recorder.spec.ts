import { describe, expect, it } from '@jest/globals';
import { validateEvent, type AnsweredAsk, type Permissions } from '@hangar/contracts';
import type { Ask } from '@hangar/harness-adapters';
import { createRunBench } from './testing/run-bench.ts';
import type { RunRequest } from './run.ts';
import { createTurnRecorder } from './turn-recorder.ts';

interface Noted {
  type: string;
  data: Record<string, unknown>;
}

const { request } = await createRunBench();
const SECRET = 'hunter2-hunter2';
const ASK_ALL: Permissions = { mode: 'ask', rules: [] };

function recorder(more: Partial<RunRequest> = {}) {
  const noted: Noted[] = [];
  const record = createTurnRecorder({
    request: { ...request, ...more },
    redact: (text) => text.replaceAll(SECRET, '[redacted]'),
    tell: async (command) => void noted.push(command as Noted),
  });
  const decisions = () => noted.filter((n) => n.type === 'NoteDecision').map((n) => n.data);
  return { record, noted, decisions };
}

const question: Ask = {
  id: 'toolu_01',
  kind: 'question',
  questions: [
    {
      id: 'which',
      text: 'Which fix?',
      choices: [{ label: 'A', description: 'the small one' }],
      isMultiple: true,
    },
  ],
};
const leave = (command: string, id = 'toolu_02'): Ask => ({
  id,
  kind: 'decision',
  questions: [{ id: 'leave', text: `Run ${command}?`, choices: [], isMultiple: false }],
  tool: { name: 'Bash', input: { command } },
});
const started = (id: string, command: string) =>
  ({ type: 'tool_started', id, name: 'Bash', input: { command } }) as const;
const finished = (id: string, isError = false, exitCode?: number) =>
  ({
    type: 'tool_finished',
    id,
    output: '',
    isError,
    ...(exitCode === undefined ? {} : { exitCode }),
  }) as const;
const ALLOW = { verdict: 'allow', answers: {}, reason: '' } as const;
const DENY = { verdict: 'deny', answers: {}, reason: 'not on Fridays' } as const;

describe('messages of a turn', () => {
  it('are put on record as the harness says it [M3]', async () => {
    const { record, noted } = recorder();
    await record.delivered('msg-2');
    await record.returned('msg-3');
    expect(noted).toEqual([
      { type: 'MarkDelivered', data: { message_id: 'msg-2' } },
      { type: 'MarkReturned', data: { message_id: 'msg-3' } },
    ]);
  });
});

describe('a question', () => {
  it('goes to a person, as the contract has it, whatever the permissions are [A1] [A2]', async () => {
    for (const permissions of [{ mode: 'all', rules: [] }, ASK_ALL]) {
      const { record, noted, decisions } = recorder({ permissions });
      expect(await record.asked(question)).toBeNull();
      const ask = noted[0]?.data['ask'];
      expect(ask).toEqual({
        id: 'toolu_01',
        kind: 'question',
        questions: [
          {
            id: 'which',
            text: 'Which fix?',
            choices: [{ label: 'A', description: 'the small one' }],
            is_multiple: true,
          },
        ],
      });
      const { run_id, session_id, turn } = request;
      const event = { run_id, session_id, turn, epoch: 1, ask, asked_at: '2030-01-01T00:00:00Z' };
      expect(() => validateEvent('RunAsked', event)).not.toThrow();
      await record.answered('toolu_01', ALLOW);
      expect(decisions()).toEqual([]);
    }
  });

  it('is closed when the harness says so', async () => {
    const { record, noted } = recorder();
    await record.asked(question);
    await record.closed('toolu_01');
    expect(noted.at(-1)).toEqual({ type: 'CloseAsk', data: { ask_id: 'toolu_01' } });
  });

  it('hides secrets and keeps to what an event may carry [Z2]', async () => {
    const { record, noted } = recorder();
    const text = `${SECRET} ${'x'.repeat(20_000)}`;
    await record.asked({ ...question, questions: [{ ...question.questions[0]!, text }] });
    const told = JSON.stringify(noted);
    expect(told).not.toContain(SECRET);
    expect(told).toContain('[redacted]');
    expect(told.length).toBeLessThan(9_000);
    expect(told).toMatch(/\[cut, \d+ characters more\]/);
  });
});

describe('a tool call that wants leave [A3]', () => {
  it('is answered at once where a rule decides, and nobody is asked', async () => {
    const rules = [
      { tool: 'Bash', pattern: 'git *', verdict: 'allow' },
      { tool: 'Bash', pattern: 'rm *', verdict: 'deny' },
    ];
    const { record, noted, decisions } = recorder({ permissions: { mode: 'ask', rules } });
    expect(await record.asked(leave('git log', 'c1'))).toMatchObject({ verdict: 'allow' });
    expect(await record.asked(leave('rm -r x', 'c2'))).toMatchObject({
      verdict: 'deny',
      reason: 'rule 2: deny Bash rm *',
    });
    await record.closed('c1');
    await record.closed('c2');
    expect(noted.map((n) => n.type)).toEqual(['NoteDecision', 'NoteDecision']);
    expect(decisions().map((d) => [d['call_id'], d['verdict'], d['decided_by']])).toEqual([
      ['c1', 'allow', 'rule 1'],
      ['c2', 'deny', 'rule 2'],
    ]);
  });

  it('goes to a person where none does, and what they decide is recorded as theirs', async () => {
    const { record, noted, decisions } = recorder({ permissions: ASK_ALL });
    expect(await record.asked(leave('make'))).toBeNull();
    expect(noted.at(-1)?.data['ask']).toMatchObject({
      kind: 'decision',
      tool: 'Bash',
      tool_input: '{"command":"make"}',
    });
    expect(decisions()).toEqual([]);
    await record.answered('toolu_02', DENY);
    expect(decisions()).toMatchObject([
      { call_id: 'toolu_02', verdict: 'deny', reason: 'not on Fridays', decided_by: 'person' },
    ]);
  });

  it('is recorded also where the answer is told before the ask is read again [M6]', async () => {
    const { record, decisions } = recorder({ permissions: ASK_ALL });
    await record.answered('toolu_02', ALLOW);
    expect(decisions()).toEqual([]);
    await record.asked(leave('make'));
    expect(decisions()).toMatchObject([{ call_id: 'toolu_02', decided_by: 'person' }]);
  });

  it('and was answered after a suspend is recorded when it ran, or was denied [A2]', async () => {
    for (const verdict of ['allow', 'deny']) {
      const answered: AnsweredAsk = {
        ask: {
          id: 'toolu_02',
          kind: 'decision',
          questions: [],
          tool: 'Bash',
          tool_input: '{"command":"make"}',
        },
        answer: { verdict, answers: [], reason: '' },
      };
      const { record, decisions } = recorder({ permissions: ASK_ALL, answered });
      await record.tool(finished('toolu_02', verdict === 'deny'));
      expect(decisions()).toMatchObject([
        { call_id: 'toolu_02', tool: 'Bash', verdict, decided_by: 'person' },
      ]);
    }
  });
});

describe('every tool call is recorded as allowed or denied [A3]', () => {
  it('by the mode where all is allowed, as soon as it starts', async () => {
    const { record, decisions } = recorder();
    await record.tool(started('c1', 'make'));
    await record.tool(finished('c1', true, 2));
    expect(decisions()).toMatchObject([
      {
        call_id: 'c1',
        tool: 'Bash',
        input: '{"command":"make"}',
        verdict: 'allow',
        decided_by: 'mode',
      },
    ]);
  });

  it('by the harness where it ran one without asking, whatever its exit code', async () => {
    const { record, decisions } = recorder({ permissions: ASK_ALL });
    for (const call of ['c1', 'c2', 'c3']) await record.tool(started(call, 'ls'));
    expect(decisions()).toEqual([]);
    await record.tool(finished('c1'));
    await record.tool(finished('c2', true, 2));
    // Perhaps refused by the harness: it is not said that it was allowed.
    await record.tool(finished('c3', true));
    expect(decisions().map((d) => [d['call_id'], d['decided_by']])).toEqual([
      ['c1', 'harness'],
      ['c2', 'harness'],
    ]);
  });

  it('with its input and reason redacted and bounded [Z2]', async () => {
    const { record, decisions } = recorder({ permissions: ASK_ALL });
    await record.asked(leave(`echo ${SECRET} ${'x'.repeat(10_000)}`));
    await record.answered('toolu_02', {
      verdict: 'deny',
      answers: {},
      reason: `${SECRET}${'y'.repeat(2_000)}`,
    });
    const [decision] = decisions();
    expect(JSON.stringify(decision)).not.toContain(SECRET);
    expect(String(decision?.['input']).length).toBeLessThan(2_100);
    expect(String(decision?.['reason']).length).toBeLessThan(600);
  });
});
