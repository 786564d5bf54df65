import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { HangarError } from '@hangar/contracts';

/** A failure that has no place of its own on the page. */
export function tellFailure(error: unknown): void {
  const { message, hint } = HangarError.from(error);
  notifications.show({ title: message, message: hint ?? '', color: 'red', autoClose: 12_000 });
}

/** What a button does: one at a time; a refusal is told with what to do about it. */
export function useAct() {
  const { mutate, mutateAsync, isPending } = useMutation({
    mutationFn: (what: () => Promise<unknown>) => what(),
    onError: tellFailure,
  });
  return {
    act: (what: () => Promise<unknown>): void => mutate(what),
    /** Resolves with whether it was done. */
    tryTo: (what: () => Promise<unknown>): Promise<boolean> =>
      mutateAsync(what).then(
        () => true,
        () => false,
      ),
    isActing: isPending,
  };
}
