import type { Backend } from '../backend/backend';
import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import type { BriefQuery, ExportPart, PrepareExport, PreparedExport, SessionBrief } from '../connection/wire';
import type { Entry } from '../session/entry';

/** What is shown of a file before it is saved, in characters. */
const PREVIEW = 20_000;

const TYPES: Readonly<Record<string, string>> = { html: 'text/html', json: 'application/json' };

/** Exports sessions, and hands them to other agents. */
export class Sharing {
  /** The session whose export is being chosen. */
  exporting = $state.raw<Entry | null>(null);
  /** The session that another agent continues, and the agent that was chosen. */
  handing = $state.raw<{ entry: Entry; agent: string } | null>(null);
  readonly #link: Link;
  readonly #backend: Backend;

  constructor(link: Link, backend: Backend) {
    this.#link = link;
    this.#backend = backend;
  }

  prepare(wanted: PrepareExport): Promise<PreparedExport> {
    return this.#link.request<PreparedExport>(`${METHODS.export}/prepare`, wanted);
  }

  async preview({ export: id }: PreparedExport): Promise<string> {
    const { text } = await this.#part(id, 0);
    return text.slice(0, PREVIEW);
  }

  /** The whole file. */
  async read({ export: id }: PreparedExport): Promise<string> {
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const part: ExportPart = await this.#part(id, offset);
      parts.push(part.text);
      offset = part.next ?? undefined;
    }
    return parts.join('');
  }

  /** Saves a file where the user wants it; resolves with false if the user did not choose a place. */
  async save(prepared: PreparedExport): Promise<boolean> {
    const text = await this.read(prepared);
    if (this.#backend.saveFile !== undefined) return this.#backend.saveFile(prepared.name, text);
    const ending = prepared.name.split('.').at(-1) ?? '';
    const url = URL.createObjectURL(new Blob([text], { type: TYPES[ending] ?? 'text/markdown' }));
    const anchor = document.createElement('a');
    anchor.href = url;
    anchor.download = prepared.name;
    anchor.click();
    // Safari reads it later.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    return true;
  }

  brief(query: BriefQuery): Promise<SessionBrief> {
    return this.#link.request<SessionBrief>('_openagents/continue/brief', query);
  }

  #part(id: string, offset: number): Promise<ExportPart> {
    return this.#link.request<ExportPart>(`${METHODS.export}/read`, { export: id, offset });
  }
}
