import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Empty } from '../components/page-states.tsx';

export const NotFound = () => (
  <Empty icon="search" title="There is no such page">
    <Anchor component={Link} to="/sessions">
      Go to your sessions
    </Anchor>
  </Empty>
);
