import type { Frame } from '../connection/wire';

export interface NamedFrame extends Frame {
  /** The method; for an answer, the method of its request. */
  name: string;
  kind: 'request' | 'notification' | 'result' | 'error';
}

const texts = new WeakMap<Frame, string>();

/** The frame's JSON as a value; truncated text stays text. */
export function frameValue(frame: Frame): unknown {
  try {
    return JSON.parse(frame.json) as unknown;
  } catch {
    return frame.json;
  }
}

/** Names each frame. An answer carries only an id, so its request is looked up among the frames before it. */
export function named(frames: readonly Frame[]): NamedFrame[] {
  const asked = new Map<string, string>();
  return frames.map((frame) => {
    const id = frame.id ?? null;
    const method = frame.method ?? null;
    if (method !== null) {
      if (id !== null) asked.set(key(frame, frame.direction), method);
      return { ...frame, name: method, kind: id === null ? 'notification' : 'request' };
    }
    const kind = isError(frame) ? 'error' : 'result';
    return { ...frame, name: asked.get(key(frame, frame.direction === 'in' ? 'out' : 'in')) ?? '', kind };
  });
}

function key(frame: Frame, direction: string): string {
  return `${frame.connection} ${direction} ${typeof frame.id} ${frame.id}`;
}

function isError(frame: Frame): boolean {
  // Matched as text instead of parsed: there are up to 2,000.
  return /^\s*\{(?:"jsonrpc":"2\.0",|"id":[^,{}]*,|\s)*"error"/.test(frame.json.slice(0, 300));
}

/** `acp 5f0c2a1e` for a connection without a name. */
export function who(frame: Frame): string {
  return frame.client || `${frame.door} ${String(frame.connection).slice(0, 8)}`;
}

function text(frame: NamedFrame): string {
  let known = texts.get(frame);
  if (known === undefined) {
    const columns = [
      frame.direction,
      frame.kind,
      frame.door,
      frame.client ?? '',
      frame.connection,
      frame.id ?? '',
      frame.name,
    ];
    known = `${columns.join(' ')} ${frame.json}`.toLowerCase();
    texts.set(frame, known);
  }
  return known;
}

/** Keeps the frames that contain every word of the filter, ignoring case. */
export function filtered(frames: readonly NamedFrame[], filter: string): readonly NamedFrame[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return words.length === 0 ? frames : frames.filter((frame) => words.every((word) => text(frame).includes(word)));
}
