import type { Page } from '../page.svelte';
import type { Chord, Command } from './command';

/** Page actions that commands need beyond its state. */
export interface Parts {
  /** Searches the focused part: the inspector's JSON or the session's rows. */
  find(): void;
  toggleInspector(): void;
  closeInspector(): void;
  focusComposer(): void;
  openFolder(): void;
}

/** All commands, for the keyboard, the palette, the list of shortcuts and the desktop menu. */
export function commandTable(page: Page, parts: Parts): Command[] {
  const always = (): boolean => true;
  const showsSession = (): boolean => page.navigation.over === null && (page.inSession || page.transcript !== null);
  const finds = (): boolean => showsSession() && page.find.open;
  return [
    {
      id: 'palette',
      title: 'Search and run commands',
      group: 'General',
      icon: 'search',
      keys: [{ code: 'KeyK', mod: true }],
      unlisted: true,
      inDialogs: true,
      available: always,
      run: (by) => (page.navigation.palette = by === 'menu' || !page.navigation.palette),
    },
    {
      id: 'new-exploration',
      title: 'New exploration',
      group: 'General',
      icon: 'plus',
      menuKeys: { code: 'KeyN', mod: true },
      available: always,
      run: () => page.show(null),
    },
    {
      id: 'open-folder',
      title: 'Open folder…',
      group: 'General',
      icon: 'folder',
      menuKeys: { code: 'KeyO', mod: true },
      available: () => page.backend.pickFolder !== undefined,
      run: () => parts.openFolder(),
    },
    {
      id: 'shortcuts',
      title: 'Keyboard shortcuts',
      group: 'General',
      icon: 'keyboard',
      keys: [{ key: '/', mod: true }],
      available: always,
      run: () => (page.navigation.shortcuts = true),
    },
    {
      id: 'debug',
      title: 'Debug',
      group: 'General',
      icon: 'bug',
      note: 'Every frame as JSON',
      keys: [{ code: 'KeyD', mod: true, alt: true }],
      available: () => page.mayAdmin,
      run: (by) => page.navigation.toggle('debug', by === 'palette'),
    },
    {
      id: 'close',
      title: 'Close the topmost panel',
      group: 'General',
      icon: 'cross',
      keys: [{ key: 'Escape' }],
      unlisted: true,
      available: () => page.navigation.drawer || page.navigation.over !== null || finds() || page.inspection.open,
      run: () => {
        if (page.navigation.drawer) page.navigation.drawer = false;
        else if (page.navigation.over !== null) page.navigation.over = null;
        else if (finds()) page.find.close();
        else parts.closeInspector();
      },
    },
    {
      id: 'find',
      title: 'Find in session',
      group: 'Session',
      icon: 'search',
      keys: [{ code: 'KeyF', mod: true }],
      available: () => showsSession() || (page.navigation.over === null && page.inspection.target !== null),
      run: () => parts.find(),
    },
    {
      id: 'find-next',
      title: 'Next match',
      group: 'Session',
      icon: 'down',
      keys: [{ code: 'KeyG', mod: true }],
      unlisted: true,
      available: finds,
      run: () => page.find.step(1),
    },
    {
      id: 'find-previous',
      title: 'Previous match',
      group: 'Session',
      icon: 'up',
      keys: [{ code: 'KeyG', mod: true, shift: true }],
      unlisted: true,
      available: finds,
      run: () => page.find.step(-1),
    },
    {
      id: 'write',
      title: 'Write a prompt',
      group: 'Session',
      icon: 'pencil',
      keys: [{ key: '/' }],
      unlisted: true,
      available: () => page.inSession && page.navigation.over === null,
      run: () => parts.focusComposer(),
    },
    {
      id: 'continue',
      title: 'Continue this session in its agent',
      group: 'Session',
      icon: 'arrowIn',
      available: () => {
        const past = page.transcript?.session ?? null;
        return page.live && past !== null && page.continuing.isPossible(past);
      },
      run: () => {
        const past = page.transcript?.session ?? null;
        if (past !== null) page.continue(past);
      },
    },
    {
      id: 'toggle-inspector',
      title: 'Show or hide the inspector',
      group: 'Session',
      icon: 'code',
      menuKeys: { code: 'KeyI', mod: true },
      available: () => page.inspection.open || showsSession(),
      run: () => parts.toggleInspector(),
    },
    {
      id: 'settings',
      title: 'Settings',
      group: 'Settings',
      icon: 'gear',
      keys: [{ key: ',', mod: true }],
      available: always,
      run: (by) => page.navigation.toggle('settings', by !== 'key'),
    },
    {
      id: 'devices',
      title: 'Pair a device…',
      group: 'Settings',
      icon: 'phone',
      available: always,
      run: () => page.navigation.openSettings('devices'),
    },
    ...page.navigation.settingsPages.map(([id, name]): Command => ({
      id: `settings-${id}`,
      title: `Settings: ${name}`,
      group: 'Settings',
      icon: 'gear',
      available: always,
      run: () => page.navigation.openSettings(id),
    })),
    {
      id: 'theme-system',
      title: 'Theme: system',
      group: 'Theme',
      icon: 'half',
      available: always,
      run: () => page.theme.choose('system'),
    },
    {
      id: 'theme-light',
      title: 'Theme: light',
      group: 'Theme',
      icon: 'sun',
      available: always,
      run: () => page.theme.choose('light'),
    },
    {
      id: 'theme-dark',
      title: 'Theme: dark',
      group: 'Theme',
      icon: 'moon',
      available: always,
      run: () => page.theme.choose('dark'),
    },
  ];
}

/** Keys of the focused part of the page, for the list of shortcuts. */
interface FocusKeys {
  title: string;
  keys: readonly Chord[];
}

export const FOCUS_KEYS: readonly { part: string; shortcuts: readonly FocusKeys[] }[] = [
  {
    part: 'Timeline',
    shortcuts: [
      { title: 'Previous or next row', keys: [{ key: 'ArrowUp' }, { key: 'ArrowDown' }] },
      { title: 'Ten rows up or down', keys: [{ key: 'PageUp' }, { key: 'PageDown' }] },
      { title: 'First or last row', keys: [{ key: 'Home' }, { key: 'End' }] },
      { title: 'Show the row in the inspector', keys: [{ key: 'Enter' }] },
      { title: 'Ask an agent about a finding', keys: [{ key: 'A' }] },
      { title: 'Copy where a finding is', keys: [{ key: 'C' }] },
      { title: 'Why a finding was found', keys: [{ key: 'W' }] },
      { title: 'Open a finding in the editor', keys: [{ key: 'O' }, { key: 'Enter', mod: true }] },
    ],
  },
  {
    part: 'Approval on screen',
    shortcuts: [
      { title: 'Allow once', keys: [{ key: 'Enter', mod: true }] },
      { title: 'Deny', keys: [{ key: 'Backspace', mod: true }] },
    ],
  },
  {
    part: 'Prompt',
    shortcuts: [
      { title: 'Send', keys: [{ key: 'Enter' }] },
      { title: 'New line', keys: [{ key: 'Enter', shift: true }] },
      { title: 'Earlier prompts, if it is empty', keys: [{ key: 'ArrowUp' }] },
      { title: 'Start an exploration', keys: [{ key: 'Enter', mod: true }] },
    ],
  },
  {
    part: 'Search field',
    shortcuts: [
      { title: 'Next match', keys: [{ key: 'Enter' }] },
      { title: 'Previous match', keys: [{ key: 'Enter', shift: true }] },
    ],
  },
];
