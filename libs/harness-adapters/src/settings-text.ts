type Values = Record<string, unknown>;

/** A JSON file of settings with these values in it; one that cannot be read as that is made anew. */
export function settingsText(before: string | null, values: object): string {
  return `${JSON.stringify(merged(parsed(before ?? ''), values as Values), null, 2)}\n`;
}

/** What is in both and has parts of its own is merged; else the new value stands. */
function merged(before: Values, values: Values): Values {
  const result = { ...before };
  for (const [name, value] of Object.entries(values)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    result[name] = isValues(old) && isValues(value) ? merged(old, value) : value;
  }
  return result;
}

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    return isValues(value) ? value : {};
  } catch {
    return {};
  }
}
