/**
 * Whether a key belongs to an input method, which is composing a word: Enter picks a candidate, Escape drops it. WebKit
 * ends the composition before it reports the Enter that did so, and marks that key by its code alone.
 */
export function composing(event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- WebKit marks the key in no other way
  return event.isComposing || event.keyCode === 229;
}

/** Whether Enter was pressed, and not to pick a candidate of an input method. */
export function enters(event: Pick<KeyboardEvent, 'key' | 'isComposing' | 'keyCode'>): boolean {
  return event.key === 'Enter' && !composing(event);
}
