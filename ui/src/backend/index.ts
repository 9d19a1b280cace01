import { isTauri } from '@tauri-apps/api/core';
import type { Backend } from './backend';
import { BrowserBackend } from './browser';
import { TauriBackend } from './tauri';

export type { Address, Backend, Commands } from './backend';

export function createBackend(): Backend {
  return isTauri() ? new TauriBackend() : new BrowserBackend();
}
