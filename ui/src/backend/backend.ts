/** The page's host program. Everything else goes over the connection to the bridge. */
export interface Backend {
  readonly kind: 'tauri' | 'browser';
  /** The bridge's address and token; `token` is null if this page was never given one. */
  address(): Promise<Address>;
  /** Opens the system's folder dialog; resolves with null if it is dismissed. Absent where there is none. */
  pickFolder?: () => Promise<string | null>;
  /** Like `pickFolder`, for the GGUF file of a model. */
  pickModel?: () => Promise<string | null>;
  /** Writes a file where the user wants it; resolves with false if the dialog is dismissed. Absent in a browser. */
  saveFile?: (name: string, text: string) => Promise<boolean>;
  /** Opens a link in the editor that handles its scheme. */
  openEditor(link: string): Promise<void>;
  /** Runs a command on a workspace file; see `Editor`. Absent in a browser. */
  runEditor?: (command: string, root: string, path: string, line: number) => Promise<void>;
  /** Shows a file or folder in Finder or the file manager. Absent in a browser. */
  reveal?: (path: string) => Promise<void>;
  /** Registers for menu commands and for folders opened from outside the page. */
  listen?: (commands: Commands) => void;
  /** The scope last granted to this token; null if unknown. */
  scope: string | null;
  /** The token belongs to a paired device. */
  readonly paired?: boolean;
}

/** Commands from the desktop shell; `menu` takes the id of the menu item. */
export interface Commands {
  menu(id: string): void;
  folder(path: string): void;
}

export interface Address {
  /** `ws://127.0.0.1:9099/acp` */
  socket: string;
  /** `https://mac.local:9443/acp`: the same over HTTP. Absent where WebSockets always work. */
  events?: string;
  port: number;
  token: string | null;
  /** A folder to explore once the page is connected. */
  root?: string | null;
}
