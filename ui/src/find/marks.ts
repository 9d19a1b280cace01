import { TextPattern } from '../kit/text';

/** Elements that are not text: icons, line numbers, text for screen readers, buttons. */
const ASIDE = '[aria-hidden="true"], .unseen, [data-aside]';
/** Elements that end a line of text. */
const BLOCKS =
  'p, div, li, pre, h1, h2, h3, h4, tr, td, th, dt, dd, section, article, header, figure, figcaption, button, summary, br, blockquote';
/** Most matches marked per row. */
const MOST = 500;
/** Milliseconds during which a row may change its size after a scroll to it, since its last change and in all. */
const SETTLES = 1_500;
const LONGEST = 10_000;

/** The matches in an element, as ranges. */
function rangesIn(element: Element, pattern: TextPattern): Range[] {
  const { FILTER_ACCEPT, FILTER_REJECT, FILTER_SKIP, SHOW_ELEMENT, SHOW_TEXT } = NodeFilter;
  const walker = document.createTreeWalker(element, SHOW_ELEMENT + SHOW_TEXT, (node) => {
    if (!(node instanceof Element)) return FILTER_ACCEPT;
    return node.matches(ASIDE) ? FILTER_REJECT : node.matches(BLOCKS) ? FILTER_ACCEPT : FILTER_SKIP;
  });
  const parts: { node: Text; start: number }[] = [];
  let text = '';
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (!(node instanceof Text)) text += '\n';
    else {
      parts.push({ node, start: text.length });
      text += node.data;
    }
  }
  const ranges: Range[] = [];
  let at = 0;
  for (const [start, end] of pattern.ranges(text).slice(0, MOST)) {
    while (at + 1 < parts.length && (parts[at + 1]?.start ?? 0) <= start) at += 1;
    let last = at;
    while (last + 1 < parts.length && (parts[last + 1]?.start ?? 0) < end) last += 1;
    const [from, to] = [parts[at], parts[last]];
    if (
      from === undefined ||
      to === undefined ||
      start - from.start > from.node.length ||
      end - to.start > to.node.length
    )
      continue;
    const range = new Range();
    range.setStart(from.node, start - from.start);
    range.setEnd(to.node, end - to.start);
    ranges.push(range);
  }
  return ranges;
}

/** The matches to mark in a list. */
interface Marked {
  query: string;
  /** Whether the row at an index has matches. */
  has: (index: number) => boolean;
  /** Index of the row with the current match; -1 without one. */
  index: number;
  nth: number;
}

/** Marks matches in the mounted rows without changing them and keeps the current one in view while they settle. */
export class Marks {
  readonly #list: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #changes = new MutationObserver(() => this.#changed());
  readonly #leaving = new AbortController();
  #marked: Marked | null = null;
  #now: Range | null = null;
  #frame = 0;
  #until = 0;
  #broughtAt = 0;
  #dirty = false;

  constructor(list: HTMLElement, scroller: HTMLElement) {
    this.#list = list;
    this.#scroller = scroller;
    this.#changes.observe(list, { childList: true, subtree: true, characterData: true });
    const { signal } = this.#leaving;
    for (const event of ['wheel', 'touchmove', 'pointerdown'] as const)
      scroller.addEventListener(event, () => (this.#until = 0), { signal, passive: true });
  }

  show(marked: Marked): void {
    this.#marked = marked;
    this.#soon();
  }

  /** Scrolls to the current match, now and while its row settles. */
  bring(): void {
    this.#broughtAt = performance.now();
    this.#until = this.#broughtAt + SETTLES;
    this.#soon();
  }

  #changed(): void {
    const now = performance.now();
    if (now < this.#until) this.#until = Math.min(now + SETTLES, this.#broughtAt + LONGEST);
    this.#soon();
  }

  end(): void {
    this.#changes.disconnect();
    this.#leaving.abort();
    cancelAnimationFrame(this.#frame);
    highlight('found', []);
    highlight('found-now', []);
  }

  #soon(): void {
    this.#dirty = true;
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#frame = 0;
    if (this.#dirty) this.#mark();
    this.#dirty = false;
    if (performance.now() >= this.#until) return;
    const target = this.#now ?? this.#row(this.#marked?.index ?? -1);
    if (target !== null) bringInto(target, this.#scroller);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #row(index: number): Element | null {
    return this.#list.querySelector(`[data-index="${index}"]`);
  }

  #mark(): void {
    this.#now = null;
    if (this.#marked === null) return;
    const { query, has, index, nth } = this.#marked;
    const pattern = new TextPattern(query);
    const all: Range[] = [];
    for (const row of query === '' ? [] : this.#list.querySelectorAll<HTMLElement>('[data-index]')) {
      const at = Number(row.dataset['index']);
      if (!has(at)) continue;
      const ranges = rangesIn(row, pattern);
      if (at === index) this.#now = ranges.splice(nth, 1)[0] ?? null;
      all.push(...ranges);
    }
    highlight('found', all);
    highlight('found-now', this.#now === null ? [] : [this.#now]);
  }
}

/** Without CSS highlights, only the row of the current match is marked. */
function highlight(name: string, ranges: readonly Range[]): void {
  if (!('highlights' in CSS)) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...ranges));
}

/** Scrolls boxes around a target as far as needed, up to the outermost. */
function bringInto(target: Range | Element, outermost: HTMLElement): void {
  const inner = target instanceof Range ? target.startContainer.parentElement : target;
  for (let box = inner; box !== null; box = box.parentElement) {
    const [tall, wide] = [box.scrollHeight > box.clientHeight + 1, box.scrollWidth > box.clientWidth + 1];
    if (tall || wide) {
      const style = getComputedStyle(box);
      const [at, view] = [target.getBoundingClientRect(), box.getBoundingClientRect()];
      if (
        tall &&
        style.overflowY !== 'visible' &&
        style.overflowY !== 'hidden' &&
        (at.top < view.top + 8 || at.top > view.bottom - 24)
      )
        box.scrollTop += at.top - view.top - view.height / 3;
      if (
        wide &&
        style.overflowX !== 'visible' &&
        style.overflowX !== 'hidden' &&
        (at.left < view.left || at.right > view.right)
      )
        box.scrollLeft += at.left - view.left - view.width / 3;
    }
    if (box === outermost) return;
  }
}
