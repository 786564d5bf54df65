import { QueryClient } from '@tanstack/react-query';
import { HangarError } from '@hangar/contracts';

/** Names of what is cached: the first word says which noun, the second which session. */
export const keys = {
  sessions: ['sessions'] as const,
  session: (ref: string) => ['session', ref] as const,
  activity: (sessionId: string, turn: number) => ['activity', sessionId, turn] as const,
  changes: (sessionId: string, checkpoint: string | null) =>
    ['changes', sessionId, checkpoint] as const,
  decisions: (sessionId: string, turn: number | null) => ['decisions', sessionId, turn] as const,
  terminals: (sessionId: string) => ['terminals', sessionId] as const,
  cards: ['cards'] as const,
  environments: ['environments'] as const,
  secrets: ['secrets'] as const,
  tokens: ['tokens'] as const,
  harnesses: ['harnesses'] as const,
  limits: (environment: string | null, harness: string | null) =>
    ['limits', environment, harness] as const,
  audit: (session: string) => ['audit', session] as const,
  replay: (session: string, version: number) => ['replay', session, version] as const,
};

/**
 * Nothing is asked for twice: live events say what has changed (live.ts), and the client itself
 * tries calls again that may be repeated.
 */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        retry: (count, error) => count < UNAVAILABLE_TRIES_MAX && isAway(error),
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // A server on this machine answers without an internet, too.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });

const UNAVAILABLE_TRIES_MAX = 3;

export const isAway = (error: unknown): boolean =>
  error instanceof HangarError && error.code === 'unavailable';
