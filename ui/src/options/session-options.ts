import type { Asking, OptionValueMeta } from '../connection/wire';
import { openagents } from '../connection/protocol';
import type { SessionConfigOption } from '../connection/wire';

export interface OptionChoice {
  value: string;
  name: string;
  description: string;
  /** What the agent asks with it; null if that is unknown or has nothing to do with it. */
  asks: Asking | null;
}

/** Values below one heading; empty for values without. */
export interface ChoiceGroup {
  heading: string;
  choices: readonly OptionChoice[];
}

/** An option of an agent, with the values to choose from. */
export interface PickedOption {
  id: string;
  name: string;
  description: string;
  current: OptionChoice;
  groups: readonly ChoiceGroup[];
}

/** An agent's options in the order in which the composer shows them. */
export interface ArrangedOptions {
  /** The model, the effort and the mode, as far as the agent has them, and what else decides what it asks. */
  main: readonly PickedOption[];
  /** The rest, in the agent's order. */
  more: readonly PickedOption[];
}

/** The categories with a picker of their own, in order. */
const MAIN = ['model', 'thought_level', 'mode'];

export function arranged(options: readonly SessionConfigOption[]): ArrangedOptions {
  const main = MAIN.flatMap((category) => options.find((option) => option.category === category) ?? []);
  const rest = options.filter((option) => !main.includes(option)).flatMap(picked);
  // One that decides what the agent asks has to be seen, and confirmed.
  const asks = ({ groups }: PickedOption): boolean =>
    groups.some(({ choices }) => choices.some((it) => it.asks !== null));
  return {
    main: [...main.flatMap(picked), ...rest.filter(asks)],
    more: rest.filter((option) => !asks(option)),
  };
}

function picked(option: SessionConfigOption): PickedOption[] {
  // Other types are those of later protocols.
  if (option.type !== 'select') return [];
  const groups = option.options.flatMap((entry): ChoiceGroup[] =>
    'options' in entry ? [{ heading: entry.name, choices: entry.options.map(choice) }] : [],
  );
  const loose = option.options.flatMap((entry) => ('options' in entry ? [] : [choice(entry)]));
  if (loose.length > 0) groups.unshift({ heading: '', choices: loose });
  const { currentValue } = option;
  const known = groups.flatMap(({ choices }) => choices).find(({ value }) => value === currentValue);
  return [
    {
      id: option.id,
      name: option.name,
      description: option.description ?? '',
      // A value that is not in the list is shown as it is.
      current: known ?? { value: currentValue, name: currentValue, description: '', asks: null },
      groups,
    },
  ];
}

type Stated = Extract<Extract<SessionConfigOption, { type: 'select' }>['options'][number], { value: string }>;

function choice({ value, name, description, _meta }: Stated): OptionChoice {
  return { value, name, description: description ?? '', asks: openagents<OptionValueMeta>(_meta).asks ?? null };
}

/** The options with other values than the agent reports. */
export function withValues(
  options: readonly SessionConfigOption[],
  values: Readonly<Record<string, string>>,
): SessionConfigOption[] {
  return options.map((option) => {
    const value = values[option.id];
    return option.type === 'select' && value !== undefined ? { ...option, currentValue: value } : option;
  });
}

const LABEL = 32;

/** A name that fits on a button. */
export function label({ name }: OptionChoice): string {
  const signs = [...name];
  return signs.length > LABEL ? `${signs.slice(0, LABEL - 1).join('')}…` : name;
}

/** What a value changes in what the agent asks; null if nothing worth saying. */
export function askingWords(asks: Asking | null): string | null {
  switch (asks) {
    case 'edits':
      return 'Edits files without asking';
    case 'auto':
      return 'Decides itself what to ask';
    case 'bypass':
      return 'Asks nothing';
    case 'plan':
    case 'ask':
    case null:
      return null;
  }
}
