/** What the page needs from the program that shows it. Everything else goes over the link to the bridge. */
export interface Backend {
  readonly kind: 'tauri' | 'browser';
  /** Where the bridge is and what opens its door; `token` is null when this page was never given one. */
  address(): Promise<Address>;
  /** Opens the system's folder dialog. Absent where there is none; resolves with null when it is dismissed. */
  pickFolder?: () => Promise<string | null>;
  /** The same for the GGUF file of a model. */
  pickModel?: () => Promise<string | null>;
  /** Hands a link to the editor that its scheme belongs to. */
  openEditor(link: string): Promise<void>;
  /** Runs a command on a file of a workspace; see `Editor`. Absent where the page is in a browser. */
  runEditor?: (command: string, root: string, path: string, line: number) => Promise<void>;
  /** Hears what a person chose in the shell's menu, and folders that were opened from outside the page. */
  listen?: (commands: Commands) => void;
  /** Has the system say that somebody waits, unless the page is before a person's eyes. Where it is absent the browser does. */
  notify?: (title: string, body: string) => void;
  /** What the bridge last let this page do; null before it has ever said so with this token. */
  scope: string | null;
  /** The token is that of a paired device. */
  readonly paired?: boolean;
}

/** Ids of menu items, and what they do. */
export interface Commands {
  menu(id: string): void;
  folder(path: string): void;
}

export interface Address {
  /** `ws://127.0.0.1:9099/acp` */
  socket: string;
  /** `https://mac.local:9443/acp`: the same over HTTP alone. Absent where a WebSocket can always be opened. */
  events?: string;
  port: number;
  token: string | null;
  /** A folder to explore as soon as the page is connected. */
  root?: string | null;
}
