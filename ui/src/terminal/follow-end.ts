/** Pixels above the end that still count as the end. */
const NEAR = 24;

/** Keeps the end of what scrolls in sight while it grows, until the user scrolls up. Its first child is the content. */
export function followEnd(scroller: HTMLElement): () => void {
  let follow = true;
  let top = 0;
  const onscroll = (): void => {
    const { scrollTop } = scroller;
    // Between two frames the content may have grown: only scrolling up ends this.
    follow = (follow && scrollTop >= top) || scroller.scrollHeight - scrollTop - scroller.clientHeight < NEAR;
    top = scrollTop;
  };
  scroller.addEventListener('scroll', onscroll, { passive: true });
  // Its height is known when this is called: to ask for it in an effect would lay out the page once for each output.
  const sizes = new ResizeObserver(() => {
    if (follow) scroller.scrollTop = scroller.scrollHeight;
  });
  if (scroller.firstElementChild !== null) sizes.observe(scroller.firstElementChild);
  return () => {
    sizes.disconnect();
    scroller.removeEventListener('scroll', onscroll);
  };
}
