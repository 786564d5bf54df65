import { createTheme, type CSSVariablesResolver } from '@mantine/core';

export const theme = createTheme({
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  primaryColor: 'indigo',
  primaryShade: 7,
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  components: {
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, multiline: true, maw: 360 } },
  },
});

/** Dimmed text keeps a contrast of 4.5 to 1 on every surface here; the library's own does not. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#59626b',
    '--mantine-color-placeholder': '#6b747d',
    '--hangar-surface': '#f8f9fa',
    '--hangar-line': '#dee2e6',
    '--hangar-code': '#f1f3f5',
    '--hangar-bad': '#c92a2a',
  },
  dark: {
    '--mantine-color-dimmed': '#a6a7ab',
    '--mantine-color-placeholder': '#909296',
    '--hangar-surface': '#1f1f1f',
    '--hangar-line': '#3b3b3b',
    '--hangar-code': '#2e2e2e',
    '--hangar-bad': '#ff8787',
  },
});
