import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useAct } from '../../lib/act.ts';
import { useClient } from '../../lib/client.tsx';
import { plural } from '../../lib/quantities.ts';

/** Checks the hash chain of the session's log: a changed, missing or added row is found. */
export function VerifyButton({ session }: { session: string }) {
  const client = useClient();
  const { act, isActing } = useAct();
  const verify = async (): Promise<void> => {
    const { ok, problems } = await client.audit.verify({ session });
    const [first] = problems;
    notifications.show({
      color: ok ? 'teal' : 'red',
      title: ok ? 'The log is unharmed' : `${plural(problems.length, 'row')} are not as written`,
      message: first
        ? `The first: version ${first.version} of ${first.stream} was ${first.problem}.`
        : 'Every event is as it was written, and none is missing.',
    });
  };
  return (
    <Button variant="default" loading={isActing} onClick={() => act(verify)}>
      Verify
    </Button>
  );
}
