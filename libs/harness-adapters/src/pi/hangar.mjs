/**
 * hangar's extension of pi: the tool by which the agent asks a person, and the gate that asks for
 * leave before any other tool runs. Both are dialogs with JSON in them (pi.asks.ts). It imports
 * nothing and is plain JavaScript: pi then loads it as it is, which costs no time.
 */
const ASK = 'ask_person';
const CUT = 'The turn ended before the person answered.';

const string = (description) => ({ type: 'string', description });
const PARAMETERS = {
  type: 'object',
  required: ['questions'],
  properties: {
    questions: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['question'],
        properties: {
          question: string('The whole question.'),
          options: {
            type: 'array',
            description: 'Likely answers; the person may give another one.',
            items: {
              type: 'object',
              required: ['label'],
              properties: { label: string('The answer.'), description: string('What it means.') },
            },
          },
          multiSelect: { type: 'boolean', description: 'Several options may be taken.' },
        },
      },
    },
  },
};

/** What the person answered: `signal` closes the dialog when the turn is cut off. */
async function asked(ctx, signal, ask) {
  const value = await ctx.ui.input('hangar', JSON.stringify(ask), { signal });
  return value === undefined ? { isAllowed: false, text: CUT } : JSON.parse(value);
}

// oxlint-disable-next-line import/no-default-export -- pi calls it by that name.
export default function hangar(pi) {
  pi.registerTool({
    name: ASK,
    label: 'Ask a person',
    description: 'Asks the person you work for and waits for the answer, for days if need be.',
    promptSnippet: 'Ask the person you work for when only they can decide',
    parameters: PARAMETERS,
    async execute(id, { questions }, signal, _onUpdate, ctx) {
      const { text } = await asked(ctx, signal, { kind: 'question', id, questions });
      return { content: [{ type: 'text', text }], details: undefined };
    },
  });
  if (process.env.HANGAR_ASKS_LEAVE !== '1') return;
  pi.on('tool_call', async ({ toolCallId: id, toolName: name, input }, ctx) => {
    if (name === ASK) return undefined;
    try {
      const leave = await asked(ctx, ctx.signal, { kind: 'decision', id, name, input });
      return leave.isAllowed ? undefined : { block: true, reason: leave.text };
    } catch (error) {
      return { block: true, reason: `Nobody could be asked for leave: ${String(error)}` };
    }
  });
}
