import { createContext, useContext } from 'react';
import type { SessionDocument } from '@hangar/contracts';

const SessionContext = createContext<SessionDocument | null>(null);
export const SessionProvider = SessionContext.Provider;

/** The session that is opened; only below its page. */
export function useOpenedSession(): SessionDocument {
  const session = useContext(SessionContext);
  if (!session) throw new Error('used outside of a session');
  return session;
}
