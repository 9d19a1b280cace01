import type { ContentBlock } from '@agentclientprotocol/sdk';
import { openagents, type PromptMeta, type SpeechMeta, type Update } from '../connection/wire';
import type { MessageRow, Picture, ThoughtRow } from '../timeline/rows';
import type { Body, Fold } from './fold-state';

export function prompt(fold: Fold, body: Body<'user_message_chunk'>, at: Update): void {
  const { removed = false } = openagents<PromptMeta>(body._meta);
  const [messageId, said] = [idOf(body), text(body.content)];
  const index =
    removed && said === '' ? fold.rows.findLastIndex((row) => row.kind === 'user' && row.messageId === messageId) : -1;
  const row = fold.rows[index];
  if (row?.kind === 'user') {
    fold.rows[index] = { ...row, removed, seqs: [...row.seqs, at.seq] };
    return;
  }
  endThought(fold, at);
  const picture = pictureOf(body.content);
  const last = fold.rows.at(-1);
  if (picture !== null && messageId !== null && last?.kind === 'user' && last.messageId === messageId) {
    fold.rows[fold.rows.length - 1] = {
      ...last,
      seqs: [...last.seqs, at.seq],
      pictures: [...(last.pictures ?? []), picture],
    };
    return;
  }
  fold.rows.push({
    kind: 'user',
    key: `${fold.prefix}u${fold.updates}`,
    seqs: [at.seq],
    ts: at.ts,
    text: said,
    messageId,
    removed,
    ...picturing(picture),
  });
  if (!removed) fold.working = true;
}

export function message(fold: Fold, body: Body<'agent_message_chunk'>, at: Update): void {
  const { summary, findings, usage, ended, failed = false, late = false } = openagents<SpeechMeta>(body._meta);
  const messageId = idOf(body);
  const said = text(body.content);
  const picture = pictureOf(body.content);
  const index = lastOf(fold, late);
  const last = fold.rows[index];
  const goesOn =
    last?.kind === 'message' &&
    last.messageId === messageId &&
    last.summary === undefined &&
    last.usage === undefined &&
    last.findings === undefined &&
    findings === undefined;
  if (goesOn) {
    // Grown in place: a copy for each of many thousand chunks takes seconds.
    last.seqs.push(at.seq);
    fold.rows[index] = {
      ...last,
      text: last.text + said,
      ...(picture === null ? {} : { pictures: [...(last.pictures ?? []), picture] }),
      summary,
      usage,
      failed,
    } satisfies MessageRow;
  } else if (said !== '' || picture !== null || summary !== undefined || findings !== undefined) {
    fold.rows.push({
      kind: 'message',
      key: `${fold.prefix}m${fold.updates}`,
      seqs: [at.seq],
      ts: at.ts,
      text: said,
      messageId,
      failed,
      late,
      summary,
      findings,
      usage,
      ...picturing(picture),
    });
  }
  const ends = ended === true || summary !== undefined || usage !== undefined;
  // An exploration ends with one final message, after the plan's last update.
  if (ends && !late) fold.working = fold.open.size > 0 || fold.plan?.state === 'running';
}

export function thought(fold: Fold, body: Body<'agent_thought_chunk'>, at: Update): void {
  const { late = false } = openagents<SpeechMeta>(body._meta);
  const messageId = idOf(body);
  const said = text(body.content);
  const index = lastOf(fold, late);
  const last = fold.rows[index];
  if (last?.kind === 'thought' && last.messageId === messageId && last.endedAt === undefined) {
    last.seqs.push(at.seq);
    fold.rows[index] = { ...last, text: last.text + said } satisfies ThoughtRow;
  } else {
    endThought(fold, at);
    fold.rows.push({
      kind: 'thought',
      key: `${fold.prefix}h${fold.updates}`,
      seqs: [at.seq],
      ts: at.ts,
      text: said,
      messageId,
      late,
    });
  }
}

/** A thought ends when something else follows. */
export function endThought(fold: Fold, at: Update): void {
  const index = fold.rows.length - 1;
  const last = fold.rows[index];
  if (last?.kind === 'thought' && last.endedAt === undefined) fold.rows[index] = { ...last, endedAt: at.ts };
}

/** The index of the row that may continue. Late messages are interleaved with the next turn, and neither ends the other. */
function lastOf(fold: Fold, late: boolean): number {
  return fold.rows.findLastIndex((row) => row.kind === 'user' || row.late === late);
}

function idOf(body: object): string | null {
  const id = (body as { messageId?: unknown }).messageId;
  return typeof id === 'string' ? id : null;
}

/** The kinds of images that every browser draws, and that cannot run anything. */
const DRAWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** The image of a content block; null if it is something else or cannot be drawn. */
export function pictureOf(content: ContentBlock): Picture | null {
  if (content.type !== 'image' || !DRAWN.has(content.mimeType) || content.data === '') return null;
  return { mimeType: content.mimeType, data: content.data };
}

function picturing(picture: Picture | null): { pictures?: readonly Picture[] } {
  return picture === null ? {} : { pictures: [picture] };
}

/** What a content block says; nothing for an image that is drawn. */
export function text(content: ContentBlock): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
      return pictureOf(content) === null ? '[Image]' : '';
    case 'audio':
      return '[Audio]';
    case 'resource_link':
      return `Resource: ${content.uri}`;
    default:
      return '[Attachment]';
  }
}
