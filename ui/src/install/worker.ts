import { isTauri } from '@tauri-apps/api/core';

/**
 * Lets the page open without a network, where the browser allows it: over a certificate that it trusts, or on this very
 * machine. `show` is told which session a notification was about.
 */
export function registerWorker(show: (sessionId: string) => void): void {
  if (!import.meta.env.PROD || isTauri() || !('serviceWorker' in navigator)) return;
  navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent<{ show?: string }>) => {
    if (data.show !== undefined) show(data.show);
  });
  // Refused where the certificate is not trusted: the page works all the same.
  navigator.serviceWorker.register('./sw.js', { updateViaCache: 'none' }).catch(() => undefined);
}
