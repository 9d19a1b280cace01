import { SCOPES, type Scope } from '../connection/devices-wire';

/** What each scope is called, and what it lets a device do. */
export const SCOPE_WORDS: Readonly<Record<Scope, { name: string; does: string }>> = {
  view: { name: 'View', does: 'Sees every session. Changes nothing.' },
  prompt: { name: 'Prompt', does: 'Also starts, prompts and stops sessions.' },
  approve: { name: 'Approve', does: 'Also answers what agents ask before they act.' },
  admin: { name: 'Admin', does: 'Also changes settings, models and agents, and lets in other devices.' },
};

/** Whether a scope holds another one. */
export function holds(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

/** What a device that lacks a scope is told: `This device may view. More can be allowed on Mac.` */
export function limitWords(scope: Scope, computer: string | null): string {
  const may = { view: 'view', prompt: 'view and prompt', approve: 'view, prompt and approve', admin: 'do everything' }[scope];
  return `This device may ${may}. More can be allowed on ${computer ?? 'the computer'}.`;
}
