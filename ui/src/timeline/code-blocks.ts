import { mount, unmount } from 'svelte';
import CopyButton from '../kit/CopyButton.svelte';

/** Adds a button to each block of code that copies it, also after the Markdown was rendered again. */
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
      // Beneath the block: what surrounds it belongs to the rendered HTML, which is replaced as a whole.
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
