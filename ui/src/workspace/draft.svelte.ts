import { EXPLORER_MODE } from '../agents/agent-words';
import { browserStorage } from '../backend/storage';
import { Attachments } from '../session/attachments.svelte';

const KEY = 'openagents.mode';

/** The input for the next session. It survives the form, which is replaced while a session starts. */
export class Draft {
  /** Null until chosen: the form then shows the bridge's own folder. */
  path = $state<string | null>(null);
  /** Goals of an exploration, or the prompt for a model. */
  text = $state('');
  readonly attachments = new Attachments();
  /** Values of options chosen for the next session, by the option's id. */
  options = $state.raw<Readonly<Record<string, string>>>({});
  /** The agent chosen last for new sessions. */
  mode = $state<string>(browserStorage.read(KEY) ?? EXPLORER_MODE);

  set(option: string, value: string): void {
    this.options = { ...this.options, [option]: value };
  }

  /** A session has started with it. What is chosen for later ones too, the bridge remembers. */
  used(): void {
    this.text = '';
    this.options = {};
  }

  choose(mode: string): void {
    this.mode = mode;
    browserStorage.write(KEY, mode);
  }
}

/** One goal per line; empty lines and list marks are dropped. */
export function parseGoals(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*•]\s+)?/, '').trim())
    .filter((line) => line !== '');
}
