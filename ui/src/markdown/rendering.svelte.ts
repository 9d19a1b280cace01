import type { Markdown } from './markdown.svelte';

/** Milliseconds between two renderings of a message that grows. */
const PAUSE = 150;
/** The same between two checks of its text, which copy and compare all of it. */
const CHECK = 16;
/** Text length, in characters, up to which these pauses apply; beyond it they grow in proportion. */
const LONG = 16 * 1024;

/** A growing text as shown: the newest rendering of its beginning, then plain text. */
export class Rendering {
  html = $state.raw<string | null>(null);
  tail = $state.raw('');

  readonly #markdown: Markdown;
  readonly #length: () => number;
  readonly #text: () => string;
  readonly #now: () => number;
  #rendered: { text: string; html: string } | null = null;
  #seen: string | null = null;
  #checkedAt = -Infinity;
  #requestedAt = -Infinity;
  #asking = false;
  #nextCheck: ReturnType<typeof setTimeout> | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  /** `text` is called rarely, because joining the chunks of a long text takes time. */
  constructor(markdown: Markdown, length: () => number, text: () => string, now = (): number => performance.now()) {
    this.#markdown = markdown;
    this.#length = length;
    this.#text = text;
    this.#now = now;
  }

  /** The text may have grown, or the bridge may be reachable again. */
  changed(): void {
    if (this.#nextCheck !== undefined) return;
    const length = this.#length();
    const rest = length <= LONG ? 0 : this.#checkedAt + CHECK * (length / LONG) - this.#now();
    if (rest <= 0) this.#check();
    else this.#nextCheck = setTimeout(() => this.#check(), rest);
  }

  /** Stops reading the text. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#nextCheck);
    clearTimeout(this.#waiting);
  }

  #check(): void {
    this.#nextCheck = undefined;
    this.#checkedAt = this.#now();
    const text = this.#text();
    this.#seen = text;
    if (this.#rendered === null || !text.startsWith(this.#rendered.text)) {
      const html = this.#markdown.known(text);
      this.#rendered = html === undefined ? null : { text, html };
    }
    this.#show();
    if (this.#rendered?.text.length !== text.length) this.#schedule();
  }

  #show(): void {
    const [text, rendered] = [this.#seen ?? '', this.#rendered];
    const whole = rendered === null || rendered.text.length === text.length;
    this.html = rendered === null ? null : whole ? rendered.html : rendered.html.trimEnd();
    this.tail = text.slice(rendered?.text.length ?? 0);
  }

  /** One request at a time keeps answers in order. */
  #schedule(): void {
    if (this.#asking || this.#waiting !== undefined) return;
    const rest = this.#requestedAt + PAUSE * Math.max(1, this.#length() / LONG) - this.#now();
    if (rest <= 0) void this.#render();
    else this.#waiting = setTimeout(() => void this.#render(), rest);
  }

  async #render(): Promise<void> {
    this.#waiting = undefined;
    const wanted = this.#seen ?? '';
    const { connections } = this.#markdown;
    this.#asking = true;
    this.#requestedAt = this.#now();
    const html = await this.#markdown.render(wanted, this.#rendered?.text);
    this.#asking = false;
    if (this.#ended) return;
    if (html !== null && this.#seen?.startsWith(wanted) === true) {
      this.#rendered = { text: wanted, html };
      this.#show();
    }
    const failed = html === null && connections === this.#markdown.connections;
    if (this.#seen !== this.#rendered?.text && !failed) this.#schedule();
  }
}
