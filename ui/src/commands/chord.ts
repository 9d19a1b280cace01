/** Keys that are pressed together. */
export interface Chord {
  /** A key by what it types, or by its name: `/`, `Escape`. Shift is part of what is typed. */
  key?: string;
  /** A key by its position, `KeyF`: with ⌥ held, or in another alphabet, it types something else. */
  code?: string;
  /** ⌘ on a Mac, Ctrl elsewhere. */
  mod?: true;
  alt?: true;
  shift?: true;
}

type Keys = Pick<KeyboardEvent, 'key' | 'code' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>;

export function matches(chord: Chord, event: Keys): boolean {
  const mod = event.metaKey || event.ctrlKey;
  if (mod !== (chord.mod ?? false)) return false;
  // ⌥ is needed for some characters.
  if (chord.code === undefined) return event.key === chord.key && (!mod || event.altKey === (chord.alt ?? false));
  return (
    event.code === chord.code && event.altKey === (chord.alt ?? false) && event.shiftKey === (chord.shift ?? false)
  );
}

/** Whether a text field takes the keys as text. */
export function types(chord: Chord): boolean {
  return chord.mod === undefined && chord.key?.length === 1;
}

const NAMES: Record<string, string> = {
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
  PageUp: 'Page up',
  PageDown: 'Page down',
};

/** The keys of a chord, each for a key cap: `⌘`, `⇧`, `G`. */
export function caps(chord: Chord, mac: boolean): string[] {
  const key = chord.code?.replace(/^(?:Key|Digit)/, '') ?? chord.key ?? '';
  return [
    ...(chord.mod ? [mac ? '⌘' : 'Ctrl'] : []),
    ...(chord.alt ? [mac ? '⌥' : 'Alt'] : []),
    ...(chord.shift ? [mac ? '⇧' : 'Shift'] : []),
    NAMES[key] ?? (mac && key === 'Enter' ? '↩' : key),
  ];
}

/** The same as one text: `⌘⇧G`, `Ctrl+Shift+G`. */
export function chordText(chord: Chord, mac: boolean): string {
  return caps(chord, mac).join(mac ? '' : '+');
}
