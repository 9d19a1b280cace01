import { isTauri } from '@tauri-apps/api/core';

const SCRIPT = /assets\/index-[\w-]+\.js/;

/** Whether the bridge has a newer page than this one: it may have been updated while this one stayed open. */
export class Version {
  outdated = $state(false);

  /** Looks which script the bridge's page would load now. */
  async check(): Promise<void> {
    if (!import.meta.env.PROD || isTauri()) return;
    const own = SCRIPT.exec(document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '')?.[0];
    try {
      const page = await fetch('./', { cache: 'no-store', headers: { Accept: 'text/html' } });
      const newest = page.ok ? SCRIPT.exec(await page.text())?.[0] : undefined;
      this.outdated = own !== undefined && newest !== undefined && newest !== own;
    } catch {
      // Looked at again when the link is back.
    }
  }
}
