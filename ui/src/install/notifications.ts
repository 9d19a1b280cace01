/** Notifications of the system about approvals that wait while nobody looks at the page. */

export interface WaitingApproval {
  id: string;
  sessionId: string;
  /** What it is asked for. */
  title: string;
  /** Name of the agent, for people. */
  agent: string;
}

export type NotificationState = 'unsupported' | 'ask' | 'granted' | 'denied';

/** Whether this page can show any. Those of a phone need the service worker, and so a certificate that is trusted. */
export function notificationState(): NotificationState {
  if (!('Notification' in globalThis) || !('serviceWorker' in navigator) || navigator.serviceWorker.controller === null) return 'unsupported';
  return Notification.permission === 'default' ? 'ask' : Notification.permission;
}

/** Says how that stands now and whenever it changes: a worker may take the page over long after it is drawn. Returns what ends it. */
export function watchNotifications(told: (state: NotificationState) => void): () => void {
  const tell = (): void => told(notificationState());
  tell();
  if (!('serviceWorker' in navigator)) return () => undefined;
  navigator.serviceWorker.addEventListener('controllerchange', tell);
  return () => navigator.serviceWorker.removeEventListener('controllerchange', tell);
}

/** Has to be called from a person's press of a button. */
export async function askForNotifications(): Promise<NotificationState> {
  if (notificationState() === 'ask') await Notification.requestPermission();
  return notificationState();
}

/** Told of and not answered. */
const waiting = new Map<string, WaitingApproval>();

/** Follows the page from now on. */
export function beginNotifications(): void {
  const catchUp = (): void => {
    if (document.visibilityState !== 'visible') waiting.forEach(show);
    sweep();
  };
  document.addEventListener('visibilitychange', catchUp);
  if ('serviceWorker' in navigator) navigator.serviceWorker.addEventListener('controllerchange', catchUp);
  sweep();
}

/** Takes back what tells of nothing any more, by whatever page it was shown: that one may have been ended before it could. */
function sweep(): void {
  reach(async (registration) => {
    for (const notification of await registration.getNotifications()) {
      if (document.visibilityState === 'visible' || !waiting.has(notification.tag)) notification.close();
    }
  });
}

/** Tells of an approval that waits, as soon as the page is out of sight. Told of again, it replaces its notification. */
export function notifyApproval(approval: WaitingApproval): void {
  waiting.set(approval.id, approval);
  if (document.visibilityState !== 'visible') show(approval);
}

/** It is answered or void: nobody has to be told any more. */
export function withdrawApproval(id: string): void {
  waiting.delete(id);
  takeBack(id);
}

function show({ id, sessionId, title, agent }: WaitingApproval): void {
  reach(async (registration) => {
    const said = { tag: id, body: title, icon: './icons/192.png', badge: './icons/badge.png', data: { sessionId } };
    await registration.showNotification(`${agent} is waiting`, said);
    // It was answered while it was being shown.
    if (!waiting.has(id)) takeBack(id);
  });
}

function takeBack(id: string): void {
  reach(async (registration) => {
    for (const notification of await registration.getNotifications({ tag: id })) notification.close();
  });
}

/** The approval is on the page all the same: a notification that cannot be shown is no error. */
function reach(act: (registration: ServiceWorkerRegistration) => Promise<void>): void {
  if (notificationState() === 'granted') void navigator.serviceWorker.ready.then(act).catch(() => undefined);
}
