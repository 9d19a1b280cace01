/**
 * Keeps the page above a keyboard that is drawn over it: tells how much it covers as `--covered`. Where the keyboard
 * makes the window smaller instead, as the page asks for, nothing is covered.
 */
export function followKeyboard(root: HTMLElement = document.documentElement): () => void {
  const seen = window.visualViewport;
  if (seen === null) return () => undefined;
  const fit = (): void => {
    // Zoomed in, less is seen of the page, but nothing lies over it.
    const covered = seen.scale > 1.01 ? 0 : Math.max(0, Math.round(window.innerHeight - seen.height));
    root.style.setProperty('--covered', `${covered}px`);
    // Safari moves the page up, to show a field that would now be in sight anyway.
    if (covered > 0) window.scrollTo(0, 0);
  };
  fit();
  seen.addEventListener('resize', fit);
  return () => seen.removeEventListener('resize', fit);
}
