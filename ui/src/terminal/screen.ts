import Anser from 'anser';

/** Maps terminal colours to the page's tokens. */
type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'accent' | 'faint';

interface Span {
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

/** Longest drawn line, in characters: more than anyone reads, and fast to draw. */
const WIDEST = 4_000;

/** Renders terminal output: keeps colours, drops overwritten lines and the rest of very long ones. */
export function screen(output: string): Span[] {
  const text = output.replace(TITLES, '').split('\n').map(lastWritten).join('\n');
  const spans = Anser.ansiToJson(text, { use_classes: true, json: true, remove_empty: true }).map((part) => ({
    text: part.content,
    tone:
      TONES[part.fg?.replace(/^ansi-/, '') ?? ''] ??
      TONES[part.fg?.replace(/^ansi-bright-/, '') ?? ''] ??
      (part.decorations?.includes('dim') ? 'faint' : 'plain'),
    bold: part.decorations?.includes('bold') ?? false,
  }));
  return text.length <= WIDEST ? spans : narrowed(spans);
}

/** Cuts long lines and appends the number of hidden characters. */
function narrowed(spans: readonly Span[]): Span[] {
  const drawn: Span[] = [];
  let [width, cut] = [0, 0];
  const endLine = (): void => {
    if (cut > 0) drawn.push({ text: ` … ${cut.toLocaleString('en-US')} more characters`, tone: 'faint', bold: false });
    [width, cut] = [0, 0];
  };
  for (const span of spans) {
    let text = '';
    span.text.split('\n').forEach((line, at) => {
      if (at > 0) {
        if (cut > 0) {
          if (text !== '') drawn.push({ ...span, text });
          text = '';
        }
        endLine();
        text += '\n';
      }
      const shown = line.slice(0, WIDEST - width);
      text += shown;
      width += shown.length;
      cut += line.length - shown.length;
    });
    if (text !== '') drawn.push({ ...span, text });
  }
  endLine();
  return drawn;
}

/** The part of a line that stays visible after its carriage returns; a trailing one has no effect. */
function lastWritten(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end -= 1;
  return line.slice(end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1, end);
}

/** Terminal output as plain text. */
export function screenText(output: string): string {
  return Anser.ansiToText(output.replace(TITLES, '').split('\n').map(lastWritten).join('\n'));
}
