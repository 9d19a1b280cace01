import { createContext, mount, unmount } from 'svelte';
import CopyButton from '../kit/CopyButton.svelte';

/** Rendered messages to keep, since rows of a virtual list mount and unmount often. */
const KEPT = 400;

/** Renders Markdown to sanitised HTML, through the bridge. */
export class Markdown {
  /** The number of connections so far; a failed rendering is retried on the next one. */
  connections = $state(0);

  readonly #ask: (text: string) => Promise<string>;
  readonly #done = new Map<string, string>();
  readonly #requests = new Map<string, Promise<string | null>>();

  constructor(ask: (text: string) => Promise<string>) {
    this.#ask = ask;
  }

  connected(): void {
    this.connections += 1;
  }

  known(text: string): string | undefined {
    return this.#done.get(text);
  }

  /** Resolves with null if the bridge is not reachable. `before`: a shorter version to drop from the cache. */
  render(text: string, before?: string): Promise<string | null> {
    const known = this.#requests.get(text);
    if (known !== undefined) return known;
    const answer = this.#ask(text)
      .then((html) => {
        if (before !== undefined) this.#done.delete(before);
        this.#done.set(text, html);
        for (const old of this.#done.keys()) {
          if (this.#done.size <= KEPT) break;
          this.#done.delete(old);
        }
        return html;
      })
      .catch(() => null)
      .finally(() => this.#requests.delete(text));
    this.#requests.set(text, answer);
    return answer;
  }
}

export const [useMarkdown, provideMarkdown] = createContext<Markdown>();

/** Adds a copy button to each code block, also after each rendering. */
export function copyButtons(markdown: HTMLElement): () => void {
  const buttons = new Map<Element, object>();

  function add(): void {
    for (const [block, button] of buttons) {
      if (markdown.contains(block)) continue;
      void unmount(button);
      buttons.delete(block);
    }
    for (const block of markdown.querySelectorAll('pre')) {
      if (buttons.has(block)) continue;
      // Inside the block, because its parent is rendered HTML that is replaced as a whole.
      const code = block.querySelector('code');
      buttons.set(
        block,
        mount(CopyButton, {
          target: block,
          props: { text: () => (code ?? block).textContent.replace(/\n$/, ''), label: 'Copy code', icon: true },
        }),
      );
    }
  }

  add();
  const changes = new MutationObserver(add);
  changes.observe(markdown, { childList: true });
  return () => {
    changes.disconnect();
    for (const button of buttons.values()) void unmount(button);
  };
}
