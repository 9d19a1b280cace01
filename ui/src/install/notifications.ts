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

/** Tells of an approval that waits, unless the page is in sight. Told of again, it replaces its notification. */
export function notifyApproval({ id, sessionId, title, agent }: WaitingApproval): void {
  if (document.visibilityState === 'visible' || notificationState() !== 'granted') return;
  void shown(async (registration) => {
    await registration.showNotification(`${agent} is waiting`, {
      tag: id,
      body: title,
      icon: './icons/192.png',
      badge: './icons/badge.png',
      data: { sessionId },
    });
  });
}

/** It is answered or void: nobody has to be told any more. */
export function withdrawApproval(id: string): void {
  if (notificationState() !== 'granted') return;
  void shown(async (registration) => {
    for (const notification of await registration.getNotifications({ tag: id })) notification.close();
  });
}

/** The approval is on the page all the same: a notification that cannot be shown is no error. */
async function shown(act: (registration: ServiceWorkerRegistration) => Promise<void>): Promise<void> {
  try {
    await act(await navigator.serviceWorker.ready);
  } catch {
    // The system takes none now.
  }
}
