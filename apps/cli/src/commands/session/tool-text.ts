/** Of an input that is no command and no path. */
const INPUT_SHOWN_CHARACTERS_MAX = 200;

/** `$ npm test` for a command, `Read src/a.ts` for a path, else the tool and its input. */
export function toolText(tool: string, input: string): string {
  const fields = fieldsOf(input);
  const command = fields['command'] ?? fields['cmd'];
  if (typeof command === 'string') return `$ ${command}`;
  if (Array.isArray(command)) return `$ ${command.map(String).join(' ')}`;
  const path = fields['file_path'] ?? fields['path'];
  if (typeof path === 'string') return `${tool} ${path}`;
  return input === '' || input === '{}'
    ? tool
    : `${tool} ${input.length > INPUT_SHOWN_CHARACTERS_MAX ? `${input.slice(0, INPUT_SHOWN_CHARACTERS_MAX)}…` : input}`;
}

/** The input is JSON, unless it was cut. */
function fieldsOf(input: string): Record<string, unknown> {
  try {
    const value = JSON.parse(input) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // Cut, so no JSON: shown as it is.
  }
}
