import { limitsQuerySchema } from '@hangar/contracts';
import { z } from 'zod';
import { defineTool } from '../tool.ts';

const { shape } = limitsQuerySchema;

export const limits = defineTool({
  name: 'limits',
  title: 'Limits',
  description:
    'What there is to work with, before new_session: the environments (recipes of sandboxes) and ' +
    'harnesses (agents) you may name, and every limit in force with its unit and what changes it. ' +
    'With `environment` or `harness`, the limits that a session with these gets. With no ' +
    'environment listed, ask your person to define one (hangar env apply).',
  scope: 'read',
  input: z.strictObject({ environment: shape.environment, harness: shape.harness }),
  async run(input, { limits: service, environments, caller }) {
    const found = await service.limits(caller, input);
    const harnesses = service.harnesses().map(({ name, version }) => ({ name, version }));
    const { items } = await environments.list(caller);
    const named = items.map(({ name, version, recipe }) => ({
      name,
      version,
      harnesses: recipe.harnesses ?? harnesses.map((each) => each.name),
      repo: recipe.repo ?? null,
    }));
    const rows = found.limits.map(({ name, value, unit, changed_by, does }) => ({
      name,
      value,
      unit,
      changed_by,
      does,
    }));
    const text = [
      `Environments: ${named.map(({ name }) => name).join(', ') || '(none)'}`,
      `Harnesses: ${harnesses.map(({ name }) => name).join(', ') || '(none)'}`,
      ...rows.map(
        ({ name, value, unit, does }) => `${name}: ${value ?? 'no bound'} ${unit}. ${does}`,
      ),
    ].join('\n');
    return { text, structured: { environments: named, harnesses, limits: rows } };
  },
});
