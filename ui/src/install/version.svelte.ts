import { isTauri } from '@tauri-apps/api/core';

const SCRIPT = /assets\/index-[\w-]+\.js/;

/** Whether the bridge serves a newer page than this one. */
export class Version {
  outdated = $state(false);

  /** Compares this page's script with the one that the bridge serves now. */
  async check(): Promise<void> {
    if (!import.meta.env.PROD || isTauri()) return;
    const own = SCRIPT.exec(document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '')?.[0];
    try {
      const page = await fetch('./', { cache: 'no-store', headers: { Accept: 'text/html' } });
      const newest = page.ok ? SCRIPT.exec(await page.text())?.[0] : undefined;
      this.outdated = own !== undefined && newest !== undefined && newest !== own;
    } catch {
      // Checked again after the next reconnect.
    }
  }
}
