import { isTauri } from '@tauri-apps/api/core';

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
