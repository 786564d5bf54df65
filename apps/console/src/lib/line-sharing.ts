import { follow, type Following } from './follow.ts';

/**
 * A browser opens six connections to a server over HTTP/1.1, and a stream of events holds one. So a
 * hidden tab lets its streams go when another tab is looked at; the last one looked at keeps them.
 * Returns how to end it.
 */
export function followWhileSeen<Item>(following: Following<Item>): () => void {
  let lastId = following.startId;
  const channel = new BroadcastChannel('hangar.looked-at');
  let current: AbortController | null = null;
  const want = (): void => {
    if (document.hidden) return;
    channel.postMessage(null);
    if (current) return;
    current = new AbortController();
    const take = (item: Item): void => {
      lastId = following.idOf(item) ?? lastId;
      following.take(item);
    };
    void follow({ ...following, startId: lastId, take }, current.signal);
  };
  const letGo = (): void => {
    current?.abort();
    current = null;
  };
  channel.onmessage = () => {
    if (document.hidden) letGo();
  };
  document.addEventListener('visibilitychange', want);
  // A tab that was opened in the background has nothing to follow until it is looked at.
  want();
  return () => {
    document.removeEventListener('visibilitychange', want);
    channel.close();
    letGo();
  };
}
