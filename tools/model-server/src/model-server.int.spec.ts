import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startModelServer, type ModelServer } from './model-server.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.close());

const TOOLS = [{ name: 'Bash', input_schema: { properties: { command: { type: 'string' } } } }];

function ask(text: string, options: { stream?: boolean; key?: string; more?: unknown[] } = {}) {
  const messages = [{ role: 'user', content: text }, ...(options.more ?? [])];
  const body = { model: 'm', stream: options.stream ?? false, tools: TOOLS, messages };
  return fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': options.key ?? 'k' },
    body: JSON.stringify(body),
  });
}

const texts = async (response: Response): Promise<string> => {
  const body = (await response.json()) as { content: { type: string; text?: string }[] };
  return body.content.map((block) => block.text ?? block.type).join('|');
};
const control = (path: string, body: string) =>
  fetch(`${server.url}${path}`, { method: 'POST', body });

describe('model server', () => {
  it('listens on loopback only', () => {
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('plays the step that is due by the replies in the history', async () => {
    const script = 'go [[ say: one ++ run: ls ;; say: two ]]';
    expect(await texts(await ask(script))).toBe('one|tool_use');
    const more = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'out' }] },
    ];
    expect(await texts(await ask(script, { more }))).toBe('two');
    const past = [
      ...more,
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'next' },
    ];
    expect(await texts(await ask(script, { more: past }))).toBe(
      'I was sent 2 user and 2 assistant messages. ' +
        'The first said "go [[ say: one ++ run: ls ;; say: two ]]", the last said "next".',
    );
    expect(server.requests().at(-1)).toMatchObject({ toolResults: ['out'], roles: { length: 5 } });
  });

  it('repeats an error as often as it was told, then goes on', async () => {
    const script = '[[ error: 529x2 ;; say: after ]]';
    const answers = [await ask(script), await ask(script), await ask(script)];
    expect(answers.map(({ status }) => status)).toEqual([529, 529, 200]);
    expect(await texts(answers[2] as Response)).toBe('after');
  });

  it('says when a limit ends in the headers', async () => {
    const answer = await ask('[[ error: 429 resets=1790000000 ]]');
    expect(answer.headers.get('anthropic-ratelimit-unified-reset')).toBe('1790000000');
  });

  it('streams, and cuts in the middle of a text', async () => {
    const whole = await (await ask('[[ say: some words ]]', { stream: true })).text();
    expect(whole).toContain('event: message_stop');
    const cut = await ask('[[ cut: half ]]', { stream: true });
    await expect(cut.text()).rejects.toThrow('terminated');
  });

  it('speaks the two APIs of the other provider', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_text', text: '[[ run: ls ]]' }] }];
    const parameters = { properties: { cmd: { type: 'string' } } };
    const tools = [{ type: 'function', name: 'exec_command', parameters }];
    const responses = await control(
      '/v1/responses',
      JSON.stringify({ stream: true, input, tools }),
    );
    expect(await responses.text()).toContain('"arguments":"{\\"cmd\\":\\"ls\\"}"');
    const messages = [{ role: 'user', content: '[[ say: hi ]]' }];
    const chatTools = [{ type: 'function', function: tools[0] }];
    const chat = JSON.stringify({ stream: true, messages, tools: chatTools });
    const chunks = await (await control('/v1/chat/completions', chat)).text();
    expect(chunks).toContain('"content":"hi"');
    expect(chunks).toContain('data: [DONE]');
  });

  it('speaks the API of the third provider, streamed or not', async () => {
    const declared = { name: 'run_shell_command', parametersJsonSchema: { properties: {} } };
    const tools = [{ functionDeclarations: [declared] }];
    const context = { text: '<session_context>\nx\n</session_context>' };
    const contents = [
      { role: 'user', parts: [context] },
      { role: 'user', parts: [{ text: '[[ run: ls ;; say: hi ]]' }] },
    ];
    const path = '/v1beta/models/gemini-x';
    const first = await control(`${path}:generateContent`, JSON.stringify({ tools, contents }));
    const body = (await first.json()) as { candidates: { content: object }[] };
    expect(body).toMatchObject({
      candidates: [{ content: { parts: [{ functionCall: { args: { command: 'ls' } } }] } }],
      usageMetadata: { promptTokenCount: 1200, cachedContentTokenCount: 200 },
    });
    const response = { name: 'run_shell_command', response: { output: 'out' } };
    const more = [
      body.candidates[0]?.content,
      { role: 'user', parts: [{ functionResponse: response }] },
    ];
    const next = JSON.stringify({ tools, contents: [...contents, ...more] });
    const streamed = await control(`${path}:streamGenerateContent?alt=sse`, next);
    expect(await streamed.text()).toContain('"parts":[{"text":"hi"}]');
    const [request] = server.requests().slice(-1);
    expect(request).toMatchObject({ api: 'google', model: 'gemini-x', stream: true });
    expect(request?.roles).toEqual(['user', 'assistant', 'tool']);
    expect(request?.toolResults).toEqual(['out']);
    const failing = [{ role: 'user', parts: [{ text: '[[ error: 429 ]]' }] }];
    const limited = JSON.stringify({ tools, contents: failing });
    const refused = await control(`${path}:generateContent`, limited);
    expect(await refused.json()).toMatchObject({ error: { status: 'RESOURCE_EXHAUSTED' } });
  });

  it('answers 401 for an expired key until it is accepted again', async () => {
    await control('/_auth', JSON.stringify({ key: 'k', ok: false }));
    expect((await ask('x')).status).toBe(401);
    expect((await ask('x', { key: 'other' })).status).toBe(200);
    await control('/_auth', JSON.stringify({ key: 'k', ok: true }));
    expect((await ask('x')).status).toBe(200);
  });

  it('holds replies until they are released, and lets a test wait for requests', async () => {
    await control('/_gate', JSON.stringify({ hold: true }));
    const held = ask('[[ say: late ]]');
    const waited = await fetch(`${server.url}/_requests?at_least=1`);
    expect(await waited.json()).toMatchObject({ requests: [{ status: 0 }] });
    await control('/_gate', JSON.stringify({ hold: false }));
    expect(await texts(await held)).toBe('late');
    expect(await server.waitFor(({ status }) => status === 200)).toMatchObject({ number: 1 });
  });

  it('plays queued steps before the script of a prompt', async () => {
    await control('/_script', 'say: queued');
    expect(await texts(await ask('[[ say: own ]]'))).toBe('queued');
    expect(await texts(await ask('[[ say: own ]]'))).toBe('own');
  });

  it('asks a person with the tool that the harness offers for it', async () => {
    const tools = [{ name: 'AskUserQuestion', input_schema: { properties: {} } }];
    const messages = [{ role: 'user', content: '[[ ask: Which? | A | B ]]' }];
    const answer = await control('/v1/messages', JSON.stringify({ tools, messages }));
    const { content } = (await answer.json()) as { content: { input: { questions: object[] } }[] };
    const options = [{ label: 'A' }, { label: 'B' }];
    expect(content[0]?.input.questions).toMatchObject([{ question: 'Which?', options }]);
    expect((await ask('[[ ask: Which? ]]')).status).toBe(500);
  });

  it("takes what Claude Code adds to a tool's result for a message of the person", async () => {
    const steered = (text: string): string =>
      `<system-reminder>\nThe user sent a new message while you were working:\n${text}\n\n` +
      'This is how Claude Code surfaces it.\n</system-reminder>';
    const use = { type: 'tool_use', id: 't', name: 'Bash', input: {} };
    const content = `out\n${steered('one')}\n${steered('two [[ say: mine ]]')}`;
    const more = [
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] },
    ];
    expect(await texts(await ask('[[ run: ls ;; say: no ]]', { more }))).toBe('mine');
    const [request] = server.requests();
    expect(request?.userTexts.slice(1)).toEqual(['one', 'two [[ say: mine ]]']);
    expect(request?.toolResults).toEqual(['out']);
  });

  it('says what is wrong with a script', async () => {
    expect(await (await ask('[[ dance ]]')).text()).toContain('unknown action');
  });
});
