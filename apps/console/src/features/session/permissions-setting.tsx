import { NativeSelect } from '@mantine/core';
import { useAct } from '../../lib/act.ts';
import { useClient, useMay } from '../../lib/client.tsx';
import { plural } from '../../lib/quantities.ts';
import { useCan } from '../../lib/session-query.ts';
import { useOpenedSession } from './session-context.tsx';

/** What no rule matches is allowed, or asked for; from the next turn on. */
export function PermissionsSetting() {
  const { id, harness, permissions, state } = useOpenedSession();
  const client = useClient();
  const mayWrite = useMay('write');
  const asks = useCan(harness, 'approvals');
  const { act, isActing } = useAct();
  const { mode, rules } = permissions;
  const more = rules.length > 0 ? ` (${plural(rules.length, 'rule')} first)` : '';
  return (
    <NativeSelect
      size="xs"
      label="Tool calls"
      disabled={!mayWrite || isActing || state === 'ARCHIVED' || asks === false}
      title={asks === false ? `${harness} runs its tools without asking` : undefined}
      value={mode}
      data={[
        { value: 'all', label: `Allow all${more}` },
        { value: 'ask', label: `Ask me${more}` },
      ]}
      onChange={(event) => {
        const next = event.currentTarget.value as typeof mode;
        act(() => client.sessions.permissions(id, { mode: next, rules }));
      }}
    />
  );
}
