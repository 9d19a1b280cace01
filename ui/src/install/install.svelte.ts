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

/**
 * Registers the service worker, so that the page opens offline where the browser allows it: with a trusted certificate
 * or on this machine. `show` receives the session of a clicked notification.
 */
export function registerWorker(show: (sessionId: string) => void): void {
  if (!import.meta.env.PROD || isTauri() || !('serviceWorker' in navigator)) return;
  navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent<{ show?: string }>) => {
    if (data.show !== undefined) show(data.show);
  });
  // Refused where the certificate is not trusted; the page works without it.
  navigator.serviceWorker.register('./sw.js', { updateViaCache: 'none' }).catch(() => undefined);
}
