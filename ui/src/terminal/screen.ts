import Anser from 'anser';

/** Terminal colours as roles of this page. */
export type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'accent' | 'faint';

export interface Span {
  text: string;
  tone: Tone;
  bold: boolean;
}

const TONES: Record<string, Tone> = {
  red: 'bad',
  green: 'good',
  yellow: 'warn',
  blue: 'accent',
  magenta: 'accent',
  cyan: 'accent',
  'bright-black': 'faint',
};

 
const TITLES = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** Renders terminal output: keeps colours, drops overwritten lines. */
export function screen(output: string): Span[] {
  const text = output.replace(TITLES, '').split('\n').map(lastWritten).join('\n');
  return Anser.ansiToJson(text, { use_classes: true, json: true, remove_empty: true }).map((part) => ({
    text: part.content,
    tone: TONES[part.fg?.replace(/^ansi-/, '') ?? ''] ?? TONES[part.fg?.replace(/^ansi-bright-/, '') ?? ''] ?? (part.decorations?.includes('dim') ? 'faint' : 'plain'),
    bold: part.decorations?.includes('bold') ?? false,
  }));
}

/** What is left of a line after each carriage return has begun it anew; one at its end changes nothing. */
function lastWritten(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end -= 1;
  return line.slice(end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1, end);
}
