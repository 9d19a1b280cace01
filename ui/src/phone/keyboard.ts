/**
 * Keeps the page above an on-screen keyboard: sets `--covered` to the height that the keyboard covers. It is 0 where the
 * keyboard resizes the window instead, as the page requests.
 */
export function followKeyboard(root: HTMLElement = document.documentElement): () => void {
  const seen = window.visualViewport;
  if (seen === null) return () => undefined;
  const fit = (): void => {
    // Zoomed in, less of the page is visible, but nothing covers it.
    const covered = seen.scale > 1.01 ? 0 : Math.max(0, Math.round(window.innerHeight - seen.height));
    root.style.setProperty('--covered', `${covered}px`);
    // Safari scrolls the page up to reveal a field that is visible anyway.
    if (covered > 0) window.scrollTo(0, 0);
  };
  fit();
  seen.addEventListener('resize', fit);
  return () => seen.removeEventListener('resize', fit);
}
