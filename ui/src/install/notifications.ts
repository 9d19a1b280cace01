/** System notifications about pending approvals while the page is hidden. */

interface WaitingApproval {
  id: string;
  sessionId: string;
  title: string;
  /** The agent's display name. */
  agent: string;
}

export type NotificationState = 'unsupported' | 'ask' | 'granted' | 'denied';

/** Whether this page can show notifications. On a phone they need the service worker and so a trusted certificate. */
export function notificationState(): NotificationState {
  if (!('Notification' in globalThis) || !('serviceWorker' in navigator) || navigator.serviceWorker.controller === null)
    return 'unsupported';
  return Notification.permission === 'default' ? 'ask' : Notification.permission;
}

/** Reports the state now and on every change: a worker may take over the page late. Returns the unsubscribe function. */
export function watchNotifications(listener: (state: NotificationState) => void): () => void {
  const report = (): void => listener(notificationState());
  report();
  if (!('serviceWorker' in navigator)) return () => undefined;
  navigator.serviceWorker.addEventListener('controllerchange', report);
  return () => navigator.serviceWorker.removeEventListener('controllerchange', report);
}

/** Must be called from a click. */
export async function askForNotifications(): Promise<NotificationState> {
  if (notificationState() === 'ask') await Notification.requestPermission();
  return notificationState();
}

/** Pending approvals by id. */
const waiting = new Map<string, WaitingApproval>();

/** Starts following the visibility of the page. */
export function beginNotifications(): void {
  const catchUp = (): void => {
    if (document.visibilityState !== 'visible') waiting.forEach(show);
    sweep();
  };
  document.addEventListener('visibilitychange', catchUp);
  if ('serviceWorker' in navigator) navigator.serviceWorker.addEventListener('controllerchange', catchUp);
  sweep();
}

/** Closes stale notifications of any page: the page that showed them may have been closed before it could. */
function sweep(): void {
  reach(async (registration) => {
    for (const notification of await registration.getNotifications()) {
      if (document.visibilityState === 'visible' || !waiting.has(notification.tag)) notification.close();
    }
  });
}

/** Notifies about a pending approval once the page is hidden. A second call replaces the notification. */
export function notifyApproval(approval: WaitingApproval): void {
  waiting.set(approval.id, approval);
  if (document.visibilityState !== 'visible') show(approval);
}

/** The approval is answered or void. */
export function withdrawApproval(id: string): void {
  waiting.delete(id);
  takeBack(id);
}

function show({ id, sessionId, title, agent }: WaitingApproval): void {
  reach(async (registration) => {
    const options = { tag: id, body: title, icon: './icons/192.png', badge: './icons/badge.png', data: { sessionId } };
    await registration.showNotification(`${agent} is waiting`, options);
    // Answered while the notification was being shown.
    if (!waiting.has(id)) takeBack(id);
  });
}

function takeBack(id: string): void {
  reach(async (registration) => {
    for (const notification of await registration.getNotifications({ tag: id })) notification.close();
  });
}

/** A notification that cannot be shown is not an error: the approval is on the page too. */
function reach(act: (registration: ServiceWorkerRegistration) => Promise<void>): void {
  if (notificationState() === 'granted') void navigator.serviceWorker.ready.then(act).catch(() => undefined);
}
