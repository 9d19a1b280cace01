import type { ContentBlock } from '@agentclientprotocol/sdk';

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

export function pastedWords({ text }: AttachedText): string {
  return `Pasted ${lines(text)} lines`;
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
  return { type: 'resource', resource: { uri: 'Pasted text:', mimeType: 'text/plain', text: one.text } };
}

/** Adds images. Returns all, and why some were left out; null if none were. */
export async function withImages(
  attached: readonly Attachment[],
  files: readonly File[],
): Promise<[readonly Attachment[], string | null]> {
  let problem: string | null = null;
  const all = [...attached];
  for (const file of files) {
    const images = all.filter(({ kind }) => kind === 'image');
    if (images.length === MOST_IMAGES) {
      problem = `A prompt may have ${MOST_IMAGES} images at most.`;
      break;
    }
    const image = await imageOf(file).catch(() => null);
    const data = images.reduce((sum, one) => sum + (one.kind === 'image' ? one.data.length : 0), 0);
    if (image === null) problem = `${file.name} can't be read as a PNG, JPEG, GIF or WebP image.`;
    else if (data + image.data.length > MOST_DATA)
      problem = 'The images are too large together. Send some with the next prompt.';
    else all.push(image);
  }
  return [all, problem];
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
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
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
