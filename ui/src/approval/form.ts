import type { Approval, Form, FormField } from '../connection/wire';

/** The answers to a form, by field. */
export type Answers = Record<string, unknown>;

/** The form of an agent's question; null if the approval is about something else. */
export function formOf({ subject, rawInput }: Approval): Form | null {
  return subject === 'question' && typeof rawInput === 'object' ? (rawInput as Form) : null;
}

/** What a form shows before the user has changed anything. */
export function initial(form: Form): Answers {
  return Object.fromEntries(form.fields.map((field) => [field.name, initialOf(field)]));
}

function initialOf(field: FormField): unknown {
  switch (field.type) {
    case 'text':
    case 'choice':
      return field.default ?? '';
    case 'number':
      return field.default === undefined ? '' : String(field.default);
    case 'boolean':
      return field.default;
    case 'choices':
      return field.default;
  }
}

/** The answers to send: fields that were left empty are left out. */
export function filled(form: Form, answers: Answers): Answers {
  const entries = form.fields.flatMap((field): [string, unknown][] => {
    const answer = answers[field.name];
    if (
      answer === undefined ||
      (typeof answer === 'string' && answer.trim() === '') ||
      (Array.isArray(answer) && answer.length === 0)
    )
      return [];
    return [[field.name, field.type === 'number' ? Number(answer) : answer]];
  });
  return Object.fromEntries(entries);
}

/** Why a form cannot be sent yet; null if it can. */
export function missing(form: Form, answers: Answers): string | null {
  const given = filled(form, answers);
  for (const field of form.fields) {
    const answer = given[field.name];
    if (answer === undefined) {
      if (field.required === true) return `“${field.title}” needs an answer`;
      continue;
    }
    if (field.type !== 'number') continue;
    const number = answer as number;
    if (Number.isNaN(number)) return `“${field.title}” takes a number`;
    if (field.integer && !Number.isInteger(number)) return `“${field.title}” takes a whole number`;
    if (number < (field.minimum ?? -Infinity)) return `“${field.title}” takes ${String(field.minimum)} or more`;
    if (number > (field.maximum ?? Infinity)) return `“${field.title}” takes ${String(field.maximum)} or less`;
  }
  return null;
}

/** An address in three parts, of which the second is the host. */
export function aroundHost(url: string): [string, string, string] {
  const found = /^([a-z]+:\/\/(?:[^/?#@]*@)?)([^/?#]+)(.*)$/is.exec(url);
  return found === null ? ['', url, ''] : [found[1] ?? '', found[2] ?? '', found[3] ?? ''];
}
