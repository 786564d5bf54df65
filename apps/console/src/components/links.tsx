import { ActionIcon, Anchor, Button, Menu } from '@mantine/core';
import { createLink } from '@tanstack/react-router';

/** Links within the console, in the looks of the components; `to`, `params` and `search` are checked. */
export const AnchorLink = createLink(Anchor<'a'>);
export const ButtonLink = createLink(Button<'a'>);
export const ActionIconLink = createLink(ActionIcon<'a'>);
export const MenuItemLink = createLink(Menu.Item<'a'>);
