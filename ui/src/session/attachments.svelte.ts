import type { ContentBlock } from '@agentclientprotocol/sdk';
import { plural } from '../words/amounts';

/** What is sent along with the text of a prompt. */
export type Attachment = AttachedImage | AttachedText;

interface AttachedImage {
  kind: 'image';
  name: string;
  mimeType: string;
  /** Base64. */
  data: string;
}

interface AttachedText {
  kind: 'text';
  text: string;
  /** The session that it is the conversation of; absent if it was pasted. */
  session?: string;
}

/** The types of images that agents take. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** The most images of one prompt, and the most characters of their data: a message to the bridge has 16 MiB. */
const MOST_IMAGES = 10;
const MOST_DATA = 14 << 20;
/** The longest side in pixels, and bytes, above which an image is made smaller. */
const SIDE = 2_000;
const BYTES = 4 << 20;
/** The number of lines from which pasted text is not put into the field. */
const LONG_PASTE = 20;

export function isLongPaste(text: string): boolean {
  return lines(text) > LONG_PASTE;
}

export function textWords({ text, session }: AttachedText): string {
  return session === undefined ? `Pasted ${plural(lines(text), 'line')}` : `Session: ${session}`;
}

function lines(text: string): number {
  return text.trimEnd().split('\n').length;
}

/** The blocks of a prompt: commands and words come first. */
export function promptBlocks(text: string, attached: readonly Attachment[]): ContentBlock[] {
  const words: ContentBlock[] = text === '' && attached.length > 0 ? [] : [{ type: 'text', text }];
  return [...words, ...attached.map(blockOf)];
}

function blockOf(one: Attachment): ContentBlock {
  if (one.kind === 'image') return { type: 'image', mimeType: one.mimeType, data: one.data };
  const uri = one.session === undefined ? 'Pasted text:' : `Session "${one.session}":`;
  return { type: 'resource', resource: { uri, mimeType: 'text/plain', text: one.text } };
}

/** What goes with the text of a composer. */
export class Attachments {
  all = $state.raw<readonly Attachment[]>([]);
  /** Images and sessions that are being read: what is sent now would be without them. */
  reading = $state(0);
  /** Why something was not attached. */
  problem = $state<string | null>(null);

  get hasImages(): boolean {
    return this.all.some(({ kind }) => kind === 'image');
  }

  /** Reads images and attaches those that agents take. */
  async add(files: readonly File[]): Promise<void> {
    this.problem = null;
    for (const file of files) {
      this.reading += 1;
      const image = await imageOf(file).catch(() => null);
      this.reading -= 1;
      const problem = image === null ? unreadable(file) : this.#over(image);
      if (problem !== null) this.problem = problem;
      else if (image !== null) this.all = [...this.all, image];
    }
  }

  /** Attaches the conversation of a session once it is read. */
  async addText(session: string, reading: Promise<string>): Promise<void> {
    this.problem = null;
    this.reading += 1;
    const text = await reading.catch(() => '');
    this.reading -= 1;
    if (text === '') this.problem = `“${session}” has no conversation that can be attached.`;
    else this.all = [...this.all, { kind: 'text', text, session }];
  }

  /** Takes what is pasted or dropped unless it belongs in the field. */
  take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    const text = data?.getData('text/plain') ?? '';
    const isDrop = event.type === 'drop';
    // Programs that copy text may add a picture of it; file managers add the names.
    const isNamed = text.split('\n').every((line) => line === '' || files.some(({ name }) => name === line.trim()));
    if (files.length > 0 && (isDrop || isNamed)) {
      event.preventDefault();
      void this.add(files);
    } else if (event.type === 'paste' && isLongPaste(text)) {
      event.preventDefault();
      this.all = [...this.all, { kind: 'text', text }];
    }
  }

  remove(at: number): void {
    this.all = this.all.toSpliced(at, 1);
    this.problem = null;
  }

  /** Changes an attached text; without text it goes. */
  edit(at: number, text: string): void {
    const before = this.all[at];
    if (before?.kind !== 'text') return;
    this.all = text.trim() === '' ? this.all.toSpliced(at, 1) : this.all.with(at, { ...before, text });
  }

  /** Hands all over to a prompt. */
  hand(): readonly Attachment[] {
    const all = this.all;
    this.clear();
    return all;
  }

  clear(): void {
    this.all = [];
    this.problem = null;
  }

  #over(image: AttachedImage): string | null {
    const images = this.all.filter((one) => one.kind === 'image');
    if (images.length === MOST_IMAGES) return `A prompt may have ${MOST_IMAGES} images at most.`;
    const data = images.reduce((sum, one) => sum + one.data.length, image.data.length);
    return data > MOST_DATA ? 'The images are too large together. Send some with the next prompt.' : null;
  }
}

/** Lets files be dropped, which would otherwise replace the page. */
export function holdsFiles(event: DragEvent): void {
  if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
}

function unreadable({ name }: File): string {
  return `${name} can't be read as a PNG, JPEG, GIF or WebP image.`;
}

/** The image in a file, made smaller if it is large. Rejects if it cannot be drawn. */
async function imageOf(file: File): Promise<AttachedImage> {
  if (!IMAGE_TYPES.includes(file.type)) throw new Error('not an image that agents take');
  const bitmap = await createImageBitmap(file);
  try {
    const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
    if (scale === 1 && file.size <= BYTES)
      return { kind: 'image', name: file.name, mimeType: file.type, data: await base64(file) };
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    const draw = canvas.getContext('2d');
    if (draw === null) throw new Error('cannot be drawn');
    // JPEG has no transparency, and most images are drawn for a light page.
    draw.fillStyle = '#fff';
    draw.fillRect(0, 0, canvas.width, canvas.height);
    draw.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.85));
    if (blob === null) throw new Error('cannot be drawn');
    return { kind: 'image', name: file.name, mimeType: blob.type, data: await base64(blob) };
  } finally {
    bitmap.close();
  }
}

function base64(blob: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = reader.result as string;
      done(url.slice(url.indexOf(',') + 1));
    };
    reader.onerror = () => failed(reader.error ?? new Error('cannot be read'));
    reader.readAsDataURL(blob);
  });
}
