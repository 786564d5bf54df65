import { useEffect } from 'react';
import { useNavigate } from '@tanstack/react-router';

/** `/` goes to the search of the page, `n` to a new session; not while something is typed. */
export function useShortcuts(): void {
  const navigate = useNavigate();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyped(event.target)) return;
      if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('input[type=search]');
        if (!search) return;
        event.preventDefault();
        search.focus();
      }
      if (event.key === 'n') void navigate({ to: '/sessions/new' });
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate]);
}

const isTyped = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    target.closest('[role=dialog], .xterm') !== null);
