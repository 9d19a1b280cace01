import { invoke } from '@tauri-apps/api/core';
import type { Address, Backend } from './backend';

/** The desktop window: the shell runs the bridge in its own process and tells port and token by one command. */
export class TauriBackend implements Backend {
  readonly kind = 'tauri';

  async address(): Promise<Address> {
    const { port, token } = await invoke<{ port: number; token: string }>('bridge_address');
    return { socket: `ws://127.0.0.1:${port}/acp`, page: `http://127.0.0.1:${port}/`, port, token };
  }

  pickFolder = (): Promise<string | null> =>
    invoke<string | null>('plugin:dialog|open', { options: { directory: true, multiple: false } });
}
