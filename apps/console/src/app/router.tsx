import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { ConversationTab } from '../features/session/conversation/conversation-tab.tsx';
import { SessionPage } from '../features/session/session-page.tsx';
import { SessionsPage } from '../features/sessions/sessions-page.tsx';
import { NotFound } from './not-found.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/sessions', replace: true });
  },
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: SessionsPage,
});

const newSession = createRoute({
  getParentRoute: () => root,
  path: '/sessions/new',
  component: lazyRouteComponent(
    () => import('../features/new-session/new-session-page.tsx'),
    'NewSessionPage',
  ),
});

const needsYou = createRoute({
  getParentRoute: () => root,
  path: '/needs-you',
  component: lazyRouteComponent(
    () => import('../features/needs-you/needs-you-page.tsx'),
    'NeedsYouPage',
  ),
});

const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$ref',
  component: SessionPage,
});

const conversation = createRoute({
  getParentRoute: () => session,
  path: '/',
  component: ConversationTab,
});

const routeTree = root.addChildren([
  home,
  sessions,
  newSession,
  needsYou,
  session.addChildren([conversation]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
