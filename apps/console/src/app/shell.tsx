import { useEffect } from 'react';
import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Group,
  NavLink,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Icon, type IconName } from '../components/icons.tsx';
import { CARDS_SHOWN_MAX, useCards } from '../lib/cards.ts';
import { pageTitle } from '../lib/page-title.ts';
import { useStore } from '../lib/store.ts';
import { LineState } from './line-state.tsx';
import { useShortcuts } from './shortcuts.ts';

interface Place {
  to: '/sessions' | '/needs-you' | '/environments' | '/secrets' | '/audit' | '/settings';
  label: string;
  icon: IconName;
}

const PLACES: readonly Place[] = [
  { to: '/sessions', label: 'Sessions', icon: 'sessions' },
  { to: '/needs-you', label: 'Needs you', icon: 'needsYou' },
  { to: '/environments', label: 'Environments', icon: 'environments' },
  { to: '/secrets', label: 'Secrets', icon: 'secrets' },
  { to: '/audit', label: 'Audit', icon: 'audit' },
  { to: '/settings', label: 'Settings', icon: 'settings' },
];

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const waiting = useWaiting();
  useShortcuts();
  useEffect(close, [path, close]);
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 184, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={0}
    >
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell.Header px="sm">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Navigation"
            />
            <Link to="/sessions" style={{ color: 'inherit', textDecoration: 'none' }}>
              <Text fw={700}>hangar</Text>
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LineState />
            <ColorScheme />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p={6} aria-label="Main">
        {PLACES.map(({ to, label, icon }) => (
          <NavLink
            key={to}
            renderRoot={(props) => <Link to={to} {...props} />}
            active={path.startsWith(to)}
            label={label}
            leftSection={<Icon name={icon} />}
            rightSection={to === '/needs-you' && <Count count={waiting} />}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} data-path={shown}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

/** How many cards wait; also in the title of the window, which is seen when the page is not. */
function useWaiting(): number {
  const { data } = useCards();
  const title = useStore(pageTitle);
  const count = data?.items.length ?? 0;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title === 'hangar' ? '' : `${title} · `}hangar`;
  }, [count, title]);
  return count;
}

const Count = ({ count }: { count: number }) =>
  count > 0 ? (
    <Badge size="sm" variant="filled" aria-label={`${count} wait on you`}>
      {count >= CARDS_SHOWN_MAX ? `${CARDS_SHOWN_MAX}+` : count}
    </Badge>
  ) : null;

function ColorScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'light' ? 'dark' : 'light';
  return (
    <Tooltip label={`Use the ${other} colours`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Use the ${other} colours`}
        onClick={() => setColorScheme(other)}
      >
        <Icon name={scheme === 'light' ? 'moon' : 'sun'} />
      </ActionIcon>
    </Tooltip>
  );
}
