import type { Link } from '../connection/link.svelte';
import { METHODS, type UpdatePage } from '../connection/wire';

/** Reads one update as stored by the bridge, page by page. The received one may have been shortened. */
export async function storedUpdate(link: Link, sessionId: string, seq: number): Promise<unknown> {
  let text = '';
  let offset: number | null | undefined = 0;
  while (offset !== null && offset !== undefined) {
    const page: UpdatePage = await link.request<UpdatePage>(METHODS.update, { sessionId, seq, offset });
    text += page.text;
    offset = page.nextOffset;
  }
  return JSON.parse(text) as unknown;
}
