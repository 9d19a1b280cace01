import { invoke } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';
import type { Address, Backend, Commands } from './backend';

interface BridgeAddress {
  port: number;
  token: string;
  root?: string | null;
}

/** The desktop window: the shell hosts the bridge and returns its port and token from one command. */
export class TauriBackend implements Backend {
  readonly kind = 'tauri';
  /** The window belongs to the user of this machine. */
  scope: string | null = 'admin';

  async address(): Promise<Address> {
    const { port, token, root } = await invoke<BridgeAddress>('bridge_address');
    return { socket: `ws://127.0.0.1:${port}/acp`, port, token, root: root ?? null };
  }

  pickFolder = (): Promise<string | null> => invoke<string | null>('pick_folder');
  pickModel = (): Promise<string | null> => invoke<string | null>('pick_model');

  saveFile = (name: string, text: string): Promise<boolean> => invoke<boolean>('save_file', { name, text });

  openEditor = (link: string): Promise<void> => invoke('open_editor', { link });
  runEditor = (command: string, root: string, path: string, line: number): Promise<void> =>
    invoke('run_editor', { command, root, path, line });
  reveal = (path: string): Promise<void> => invoke('reveal', { path });

  listen = (commands: Commands): void => {
    void listen<string>('menu', (event) => commands.menu(event.payload));
    void listen<string>('open-folder', (event) => commands.folder(event.payload));
  };
}
