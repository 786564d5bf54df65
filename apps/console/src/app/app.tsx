import { useEffect, useState } from 'react';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { SignIn } from '../features/sign-in/sign-in.tsx';
import { AccessProvider, type Access } from '../lib/client.tsx';
import { startLive } from '../lib/live.ts';
import { createQueries } from '../lib/queries.ts';
import { forgetToken } from '../lib/token.ts';
import { router } from './router.tsx';
import { cssVariables, theme } from './theme.ts';

const queries = createQueries();

export function App() {
  const [access, setAccess] = useState<Access | null>(null);
  const signOut = (): void => {
    forgetToken();
    queries.clear();
    setAccess(null);
  };
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={cssVariables}
      deduplicateCssVariables={false}
    >
      <Notifications position="bottom-right" autoClose={6000} />
      <QueryClientProvider client={queries}>
        {access ? (
          <AccessProvider value={access}>
            <Live access={access} />
            <RouterProvider router={router} />
          </AccessProvider>
        ) : (
          <SignIn onSignedIn={(client, who) => setAccess({ client, who, signOut })} />
        )}
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Live({ access }: { access: Access }) {
  useEffect(() => startLive(access.client, queries, access.signOut), [access]);
  return null;
}
