import { createContext, useContext } from 'react';
import type { HangarClient } from '@hangar/client';
import type { Scope, Who } from '@hangar/contracts';

export interface Access {
  client: HangarClient;
  who: Who;
  signOut(): void;
}

const AccessContext = createContext<Access | null>(null);
export const AccessProvider = AccessContext.Provider;

/** The client and its owner; only below the sign-in. */
export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (!access) throw new Error('used outside of the sign-in');
  return access;
}

export const useClient = (): HangarClient => useAccess().client;

/** Whether the token allows it; the server refuses what it does not. */
export const useMay = (scope: Scope): boolean => useAccess().who.scopes.includes(scope);
