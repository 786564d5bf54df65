import {
  ActionIcon,
  Anchor,
  Button,
  Menu,
  type ActionIconProps,
  type AnchorProps,
  type ButtonProps,
  type MenuItemProps,
} from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef } from 'react';

/** Links within the console, in the looks of the components; `to`, `params` and `search` are checked. */
type With<Props> = Props & Omit<ComponentPropsWithRef<'a'>, keyof Props>;

export const AnchorLink = createLink((props: With<AnchorProps>) => <Anchor {...props} />);
export const ButtonLink = createLink((props: With<ButtonProps>) => (
  <Button component="a" {...props} />
));
export const ActionIconLink = createLink((props: With<ActionIconProps>) => (
  <ActionIcon component="a" {...props} />
));
export const MenuItemLink = createLink((props: With<MenuItemProps>) => (
  <Menu.Item component="a" {...props} />
));
