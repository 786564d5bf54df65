/** Line icons on a grid of 16; always beside a word or under a label of their button. */
const PATHS = {
  sessions: 'M2 4h12M2 8h12M2 12h8',
  needsYou: 'M8 2a4 4 0 0 0-4 4v3l-1.5 2.5h11L12 9V6a4 4 0 0 0-4-4zM6.5 13.5a1.5 1.5 0 0 0 3 0',
  environments: 'M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6',
  secrets:
    'M9 7a3 3 0 1 0-2.100 2.860L8 11h1.500v1.500H11V14h2.500v-2.300L8.860 7.900A3 3 0 0 0 9 7zM5.500 6.500h.01',
  audit: 'M8 4.500V8l2.500 1.500M2.500 8A5.500 5.500 0 1 0 4.500 3.800M2.500 2v2.500H5',
  settings:
    'M2 4.500h6M12 4.500h2M2 11.500h2M8 11.500h6M8 4.500a2 2 0 1 0 4 0 2 2 0 0 0-4 0zM4 11.500a2 2 0 1 0 4 0 2 2 0 0 0-4 0z',
  plus: 'M8 3v10M3 8h10',
  cross: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.500 6.500 12 13 4.500',
  back: 'M10 3 5 8l5 5',
  next: 'M6 3l5 5-5 5',
  down: 'M3 6l5 5 5-5',
  menu: 'M2 4h12M2 8h12M2 12h12',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z',
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.500 10.500 14 14',
  file: 'M4 1.500h5L12.500 5v9.500h-8.500zM9 1.500V5h3.500',
  tool: 'M4 5l3 3-3 3M8.500 11.500H13',
  branch:
    'M4.500 5v6M4.500 5a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM4.500 14a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11.500 6.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11.500 6.500c0 3-7 1.500-7 4.500',
  terminal: 'M1.500 3h13v10h-13zM4 6l2 2-2 2M8 10.500h3',
  comment: 'M2 2.500h12v8.500H7l-3 2.500V11H2z',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    strokeWidth={name === 'more' ? 2.4 : 1.4}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden
    style={{ flexShrink: 0 }}
  >
    <path d={PATHS[name]} />
  </svg>
);
