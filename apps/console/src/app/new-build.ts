const KEY = 'hangar.reloaded-at';
/** Twice within this time is no new build, but something that is broken. */
const AGAIN_MS_MIN = 30_000;

/**
 * After an upgrade of the server a page that is still open asks for files of the old build, which
 * are not there any more: it loads itself anew. What was being written is kept (lib/drafts.ts).
 */
export function reloadForNewBuild(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const before = Number(sessionStorage.getItem(KEY) ?? 0);
    if (Date.now() - before < AGAIN_MS_MIN) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
