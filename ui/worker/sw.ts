// The service worker: opens the page while there is no network, and shows what a notification was about. It keeps the
// page's own files and nothing else: what the bridge says is never stored here.

export {};
declare const self: ServiceWorkerGlobalScope;
/** Injected by the build: the page's files, and a version that identifies this set of them. */
declare const __PAGE__: { version: string; files: string[] };

const { version, files } = __PAGE__;
const CACHE = `page-${version}`;
const START = new URL('./', self.registration.scope).href;
const KEPT = new Set(files.map((file) => new URL(file, START).href));
/** How long the bridge may take to answer before the page opens from here, in milliseconds. */
const PATIENCE = 4_000;

self.addEventListener('install', (event) => {
  event.waitUntil(keep());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(forget());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || request.cache === 'no-store') return;
  const address = request.url.split('#')[0] ?? '';
  if (request.mode === 'navigate') {
    if (address === START) event.respondWith(newest(request));
  } else if (KEPT.has(address)) {
    event.respondWith(kept(request));
  }
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { sessionId } = event.notification.data as { sessionId: string };
  event.waitUntil(show(sessionId));
});

async function keep(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(files.map((file) => new Request(new URL(file, START), { cache: 'reload' })));
  // A page is one script and one style sheet, so a page that is already open needs no other cached file.
  await self.skipWaiting();
}

async function forget(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith('page-') && name !== CACHE) await caches.delete(name);
  }
  await self.clients.claim();
}

/** The page as the bridge has it now; the one that is kept where no bridge answers. */
async function newest(request: Request): Promise<Response> {
  try {
    const response = await begun(request);
    // A status of 500 and above may come from a proxy whose bridge is down.
    if (response.status < 500) return response;
  } catch {
    // There is no network, or no bridge.
  }
  return kept(new Request(START));
}

/** What the bridge answers, if it begins to in time; a slow network may take longer for the rest. */
async function begun(request: Request): Promise<Response> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE);
  try {
    return await fetch(request, { signal: patience.signal });
  } finally {
    clearTimeout(timer);
  }
}

async function kept(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreVary: true })) ?? fetch(request);
}

async function show(sessionId: string): Promise<void> {
  const pages = await self.clients.matchAll({ type: 'window' });
  const page = pages.find((open) => open.focused) ?? pages[0];
  if (page === undefined) {
    await self.clients.openWindow(`${START}#session=${encodeURIComponent(sessionId)}`);
    return;
  }
  page.postMessage({ show: sessionId });
  await page.focus();
}
