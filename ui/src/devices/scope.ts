import { SCOPES, type Scope } from '../connection/devices-wire';

export const SCOPE_WORDS: Readonly<Record<Scope, { name: string; does: string }>> = {
  view: { name: 'View', does: 'Sees every session. Changes nothing.' },
  prompt: {
    name: 'Prompt',
    does: 'Also starts, prompts and stops sessions. A prompt can make an agent do anything it does without asking.',
  },
  approve: { name: 'Approve', does: 'Also answers approvals, so agents run the commands it allows.' },
  admin: {
    name: 'Admin',
    does: 'Also deletes sessions, changes settings, models and agents, and allows other devices.',
  },
};

/** Whether a scope includes another one. */
export function holds(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

/** Shown to a device that lacks a scope: `This device can view. Change its access on Mac.` */
export function limitWords(scope: Scope, computer: string | null): string {
  const may = { view: 'view', prompt: 'view and prompt', approve: 'view, prompt and approve', admin: 'do everything' }[
    scope
  ];
  return `This device can ${may}. Change its access on ${computer ?? 'the computer'}.`;
}
