import { useEffect, useEffectEvent, useState, type SubmitEvent } from 'react';
import { Button, Center, Loader, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { createHangarClient, type HangarClient } from '@hangar/client';
import { HangarError, type Who } from '@hangar/contracts';
import { Failed } from '../../components/page-states.tsx';
import { isAway } from '../../lib/queries.ts';
import { forgetToken, keepToken, readToken, takeTokenOfAddress } from '../../lib/token.ts';

interface SignInProps {
  onSignedIn(client: HangarClient, who: Who): void;
}

const AGAIN_MS = 2_000;

const clientOf = (token: string): HangarClient =>
  createHangarClient({ url: location.origin, token });

/** A link must not sign somebody in who is somebody else already: then it is only filled in. */
function firstToken(offered: string | null): string | null {
  const known = readToken();
  return known !== null && offered !== null && offered !== known ? null : (known ?? offered);
}

export function SignIn({ onSignedIn }: SignInProps) {
  // Read once: the address has it only the first time.
  const [offered, setOffered] = useState(takeTokenOfAddress);
  const [token, setToken] = useState(offered ?? '');
  const [first] = useState(() => firstToken(offered));
  const [isTrying, setTrying] = useState(first !== null);
  const [error, setError] = useState<unknown>(null);

  const enter = async (given: string): Promise<void> => {
    setTrying(true);
    try {
      const client = clientOf(given);
      const who = await client.server.who();
      setError(null);
      keepToken(given);
      onSignedIn(client, who);
    } catch (failure) {
      const isRefused = HangarError.from(failure).code === 'unauthenticated';
      if (isRefused && given === readToken()) forgetToken();
      setError(failure);
      // A page that is opened while the server starts again waits for it.
      if (isAway(failure) && given === readToken()) setTimeout(() => void enter(given), AGAIN_MS);
      else setTrying(false);
    }
  };

  const begin = useEffectEvent(() => {
    if (first !== null) void enter(first);
  });
  useEffect(() => begin(), []);

  // The link of the start, opened in a tab that shows this page: only its fragment changes.
  const hear = useEffectEvent(() => {
    const given = takeTokenOfAddress();
    if (given === null) return;
    setOffered(given);
    setToken(given);
    void enter(given);
  });
  useEffect(() => {
    addEventListener('hashchange', hear);
    return () => removeEventListener('hashchange', hear);
  }, []);

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void enter(token.trim());
  };
  if (isTrying && error === null && token === (offered ?? ''))
    return (
      <Center h="100dvh" role="status" aria-label="Signing in">
        <Loader />
      </Center>
    );
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="lg" w={400} maw="100%">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Title order={1} size="h3">
              hangar
            </Title>
            <PasswordInput
              label="Access token"
              description="npm start prints it, and .hangar/token has it. Others get one from an admin."
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="current-password"
              data-autofocus
              autoFocus
            />
            <Button type="submit" size="sm" loading={isTrying} disabled={token.trim() === ''}>
              Sign in
            </Button>
            {error !== null && <Failed error={error} />}
            <Text size="xs" c="dimmed">
              It is kept in this browser until you sign out, and sent to this server only.
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
