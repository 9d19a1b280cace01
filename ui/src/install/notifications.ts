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

/** Has to be called from a person's press of a button. */
export async function askForNotifications(): Promise<NotificationState> {
  if (notificationState() === 'ask') await Notification.requestPermission();
  return notificationState();
}

/** Told of and not answered. */
const waiting = new Map<string, WaitingApproval>();

document.addEventListener('visibilitychange', () => {
  for (const approval of waiting.values()) {
    if (document.visibilityState === 'visible') takeBack(approval.id);
    else show(approval);
  }
});

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
