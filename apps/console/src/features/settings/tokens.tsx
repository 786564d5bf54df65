import { useState, type SubmitEvent } from 'react';
import {
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  NativeSelect,
  Stack,
  Table,
  TextInput,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Scope, TokenDocument } from '@hangar/contracts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Failed, Loading } from '../../components/page-states.tsx';
import styles from '../../components/page.module.css';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useAccess, useClient } from '../../lib/client.tsx';
import { keys } from '../../lib/queries.ts';

/** The tokens of everybody; for admins. A value is shown once, when it is made. */
export function Tokens() {
  const client = useClient();
  const queries = useQueryClient();
  const [revoking, setRevoking] = useState<TokenDocument | null>(null);
  const tokens = useQuery({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => client.tokens.list({ signal }),
  });
  if (tokens.isError) return <Failed error={tokens.error} onAgain={() => void tokens.refetch()} />;
  if (tokens.isPending) return <Loading what="tokens" rows={3} />;
  return (
    <Stack gap="sm">
      <NewToken />
      {tokens.data.items.length > 0 && (
        <TokenTable tokens={tokens.data.items} onRevoke={setRevoking} />
      )}
      {revoking && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}`}
          verb="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={async () => {
            await client.tokens.revoke(revoking.id);
            await queries.invalidateQueries({ queryKey: keys.tokens });
          }}
        >
          It is refused everywhere within five seconds, and open streams end.
        </ConfirmDialog>
      )}
    </Stack>
  );
}

interface TokenTableProps {
  tokens: TokenDocument[];
  onRevoke(token: TokenDocument): void;
}

const TokenTable = ({ tokens, onRevoke }: TokenTableProps) => (
  <div className={styles.scroll} role="region" aria-label="Tokens" tabIndex={0}>
    <Table fz="xs" verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>For</Table.Th>
          <Table.Th>Owner</Table.Th>
          <Table.Th>Scope</Table.Th>
          <Table.Th>Made</Table.Th>
          <Table.Th>Ends</Table.Th>
          <Table.Td />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tokens.map((token) => (
          <Table.Tr key={token.id}>
            <Table.Td title={token.id}>{token.name}</Table.Td>
            <Table.Td>{token.owner}</Table.Td>
            <Table.Td>{token.scope}</Table.Td>
            <Table.Td>
              <TimeAgo time={token.created_at} />
            </Table.Td>
            <Table.Td>
              {token.revoked_at ? 'revoked' : (token.expires_at?.slice(0, 10) ?? 'never')}
            </Table.Td>
            <Table.Td ta="right">
              {!token.revoked_at && (
                <Button variant="default" size="compact-xs" onClick={() => onRevoke(token)}>
                  Revoke
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </div>
);

function NewToken() {
  const { client, who } = useAccess();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [owner, setOwner] = useState(who.owner);
  const [scope, setScope] = useState<Scope>('write');
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setError(null);
    try {
      const { token } = await client.tokens.create({ name, owner, scope });
      setMade(token);
      setName('');
      await queries.invalidateQueries({ queryKey: keys.tokens });
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Group gap="xs" align="end">
        <TextInput
          size="xs"
          label="For"
          placeholder="laptop of Ada"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          size="xs"
          label="Owner"
          value={owner}
          onChange={(event) => setOwner(event.currentTarget.value)}
        />
        <NativeSelect
          size="xs"
          label="Scope"
          value={scope}
          data={['read', 'write', 'admin']}
          onChange={(event) => setScope(event.currentTarget.value as Scope)}
        />
        <Button type="submit" disabled={name.trim() === '' || owner.trim() === ''}>
          Make a token
        </Button>
      </Group>
      {error !== null && <Failed error={error} />}
      {made !== null && (
        <Alert
          mt="xs"
          variant="light"
          color="teal"
          title="Copy it now: it is not shown again"
          role="status"
        >
          <Group gap="xs">
            <Code>{made}</Code>
            <CopyButton value={made}>
              {({ copied, copy }) => (
                <Button variant="default" size="compact-xs" onClick={copy}>
                  {copied ? 'Copied' : 'Copy'}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Alert>
      )}
    </form>
  );
}
