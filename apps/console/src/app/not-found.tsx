import { Empty } from '../components/page-states.tsx';
import { AnchorLink } from '../components/links.tsx';

export const NotFound = () => (
  <Empty icon="search" title="There is no such page">
    <AnchorLink to="/sessions">Go to your sessions</AnchorLink>
  </Empty>
);
