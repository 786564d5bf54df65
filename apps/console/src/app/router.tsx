import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { ConversationTab } from '../features/session/conversation/conversation-tab.tsx';
import { Failed } from '../components/page-states.tsx';
import { DetailsTab } from '../features/session/details-tab.tsx';
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

const changes = createRoute({
  getParentRoute: () => session,
  path: '/changes',
  validateSearch: ({ checkpoint }: Record<string, unknown>): { checkpoint?: string } =>
    typeof checkpoint === 'string' ? { checkpoint } : {},
  component: lazyRouteComponent(
    () => import('../features/session/changes/changes-tab.tsx'),
    'ChangesTab',
  ),
});

const decisions = createRoute({
  getParentRoute: () => session,
  path: '/decisions',
  component: lazyRouteComponent(
    () => import('../features/session/decisions-tab.tsx'),
    'DecisionsTab',
  ),
});

const checkpoints = createRoute({
  getParentRoute: () => session,
  path: '/checkpoints',
  component: lazyRouteComponent(
    () => import('../features/session/checkpoints-tab.tsx'),
    'CheckpointsTab',
  ),
});

const terminals = createRoute({
  getParentRoute: () => session,
  path: '/terminals',
  component: lazyRouteComponent(
    () => import('../features/session/terminals/terminals-tab.tsx'),
    'TerminalsTab',
  ),
});

const details = createRoute({
  getParentRoute: () => session,
  path: '/details',
  component: DetailsTab,
});

const environments = createRoute({
  getParentRoute: () => root,
  path: '/environments',
  component: lazyRouteComponent(
    () => import('../features/environments/environments-page.tsx'),
    'EnvironmentsPage',
  ),
});

const secrets = createRoute({
  getParentRoute: () => root,
  path: '/secrets',
  component: lazyRouteComponent(
    () => import('../features/secrets/secrets-page.tsx'),
    'SecretsPage',
  ),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: ({ session: ref }: Record<string, unknown>): { session?: string } =>
    typeof ref === 'string' && ref !== '' ? { session: ref } : {},
  component: lazyRouteComponent(() => import('../features/audit/audit-page.tsx'), 'AuditPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(
    () => import('../features/settings/settings-page.tsx'),
    'SettingsPage',
  ),
});

const routeTree = root.addChildren([
  home,
  sessions,
  newSession,
  needsYou,
  environments,
  secrets,
  audit,
  settings,
  session.addChildren([conversation, changes, decisions, checkpoints, terminals, details]),
]);

export const router = createRouter({
  defaultErrorComponent: ({ error, reset }) => <Failed error={error} onAgain={reset} />,
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
