import { openagents, type Evidence, type Finding, type ToolMeta, type Update } from '../connection/wire';
import { citation, locationOf } from '../words/evidence';
import type { Row } from '../timeline/rows';

/** An update of the inspected row; only its number if the page has dropped it. */
export type Inspected = Update | { seq: number; params?: never };

export type Target =
  /** With the newest updates, and the number of those before them. */
  | { kind: 'row'; sessionId: string; key: string; row: Row; updates: readonly Inspected[]; earlier: number }
  | { kind: 'location'; location: Evidence | Finding };

export function heading(target: Target): string {
  if (target.kind === 'location')
    return 'excerpt' in target.location ? locationOf(target.location) : citation(target.location);
  switch (target.row.kind) {
    case 'tool':
      return target.row.title ?? target.row.name;
    case 'message':
      return target.row.findings !== undefined ? 'Findings' : target.row.summary === undefined ? 'Message' : 'Summary';
    case 'thought':
      return 'Reasoning';
    case 'user':
      return 'Prompt';
  }
}

/** The lines of a location, quoted above its JSON. */
export function quote(location: Evidence | Finding): string {
  return 'excerpt' in location ? location.excerpt : location.text;
}

/** The tab label of one update of a row: `call`, `62%`, `completed`; its number if the page has dropped it. */
export function step(update: Inspected): string {
  if (update.params === undefined) return `#${update.seq}`;
  const body = update.params.update;
  if (body.sessionUpdate === 'tool_call') return 'call';
  if (body.sessionUpdate === 'session_info_update') return 'routing';
  if (body.sessionUpdate !== 'tool_call_update') return body.sessionUpdate.replaceAll('_', ' ');
  const { progress, approval } = openagents<ToolMeta>(body._meta);
  if (approval !== undefined) return `approval ${approval.state}`;
  if (body.status === 'in_progress' && progress !== undefined) return `${Math.round(progress * 100)}%`;
  return (body.status ?? 'update').replaceAll('_', ' ');
}

export function notification(update: Update): object {
  return { jsonrpc: '2.0', method: 'session/update', params: update.params };
}
