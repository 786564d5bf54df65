import type {
  EnvironmentDocument,
  HarnessDocument,
  LimitsDocument,
  RecipeInput,
} from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import { newIdempotencyKey, segment, type CallOptions } from './call-options.ts';

export interface EnvironmentCalls {
  /** A name that is taken gets a new version, or answers with the one it has when nothing differs. */
  create(recipe: RecipeInput, options?: CallOptions): Promise<EnvironmentDocument>;
  apply(
    name: string,
    recipe: Omit<RecipeInput, 'name'> & { name?: string },
    options?: CallOptions,
  ): Promise<EnvironmentDocument>;
  /** The recipe as YAML; without a name in the call, the one in the recipe counts. */
  createYaml(yaml: string, options?: CallOptions): Promise<EnvironmentDocument>;
  applyYaml(name: string, yaml: string, options?: CallOptions): Promise<EnvironmentDocument>;
  list(options?: CallOptions): Promise<{ items: EnvironmentDocument[] }>;
  get(name: string, options?: CallOptions): Promise<EnvironmentDocument>;
  delete(name: string, options?: CallOptions): Promise<void>;
}

export interface LimitCalls {
  get(
    query?: { environment?: string | undefined; harness?: string | undefined },
    options?: CallOptions,
  ): Promise<LimitsDocument>;
}

export interface HarnessCalls {
  /** The agent CLIs of the server, and what each can [H1]. */
  list(options?: CallOptions): Promise<{ items: HarnessDocument[] }>;
}

const YAML = 'application/yaml';
const environmentPath = (name: string): string => `/api/environments/${segment(name)}`;

export function createEnvironmentCalls(transport: Transport): EnvironmentCalls {
  const path = '/api/environments';
  return {
    create: (recipe, options = {}) =>
      transport.json({
        method: 'POST',
        path,
        body: recipe,
        idempotencyKey: newIdempotencyKey(),
        signal: options.signal,
      }),
    apply: (name, recipe, options = {}) =>
      transport.json({
        method: 'PUT',
        path: environmentPath(name),
        body: recipe,
        signal: options.signal,
      }),
    createYaml: (value, options = {}) =>
      transport.json({
        method: 'POST',
        path,
        text: { type: YAML, value },
        idempotencyKey: newIdempotencyKey(),
        signal: options.signal,
      }),
    applyYaml: (name, value, options = {}) =>
      transport.json({
        method: 'PUT',
        path: environmentPath(name),
        text: { type: YAML, value },
        signal: options.signal,
      }),
    list: (options = {}) => transport.json({ method: 'GET', path, signal: options.signal }),
    get: (name, options = {}) =>
      transport.json({ method: 'GET', path: environmentPath(name), signal: options.signal }),
    async delete(name, options = {}) {
      const call = { method: 'DELETE', path: environmentPath(name) } as const;
      await transport.json({ ...call, signal: options.signal });
    },
  };
}

export const createHarnessCalls = (transport: Transport): HarnessCalls => ({
  list: (options = {}) =>
    transport.json({ method: 'GET', path: '/api/harnesses', signal: options.signal }),
});

export function createLimitCalls(transport: Transport): LimitCalls {
  return {
    get: (query = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/limits',
        query: { ...query },
        signal: options.signal,
      }),
  };
}
