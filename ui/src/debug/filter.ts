import type { Frame } from '../connection/wire';

const haystacks = new WeakMap<Frame, string>();

export function frameText(frame: Frame): string {
  return typeof frame.json === 'string' ? frame.json : JSON.stringify(frame.json);
}

/** The frame's JSON as a value; text that is no JSON stays text. */
export function frameValue(frame: Frame): unknown {
  if (typeof frame.json !== 'string') return frame.json;
  try {
    return JSON.parse(frame.json) as unknown;
  } catch {
    return frame.json;
  }
}

/** What a line of the list says a frame is: its method, or which answer it is. */
export function frameName(frame: Frame): string {
  if (frame.method) return frame.method;
  const value = frameValue(frame);
  return typeof value === 'object' && value !== null && 'error' in value ? 'error' : 'result';
}

function haystack(frame: Frame): string {
  let text = haystacks.get(frame);
  if (text === undefined) {
    const columns = [frame.direction, frame.door, frame.client ?? '', frame.connection, frame.id ?? '', frameName(frame)];
    text = `${columns.join(' ')} ${frameText(frame)}`.toLowerCase();
    haystacks.set(frame, text);
  }
  return text;
}

/** Keeps the frames that hold every word of the filter, in any letter case. */
export function filtered(frames: readonly Frame[], filter: string): readonly Frame[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return words.length === 0 ? frames : frames.filter((frame) => words.every((word) => haystack(frame).includes(word)));
}
