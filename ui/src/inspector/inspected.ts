import { openagents, type Evidence, type Finding, type ToolMeta, type Update } from '../connection/wire';
import { citation, placeOf } from '../timeline/evidence';
import type { Row } from '../timeline/rows';

/** What the inspector was opened on. */
export type Target =
  | { kind: 'row'; sessionId: string; key: string; row: Row; updates: Update[] }
  | { kind: 'place'; place: Evidence | Finding };

export function heading(target: Target): string {
  if (target.kind === 'place') return 'excerpt' in target.place ? placeOf(target.place) : citation(target.place);
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

/** The lines of a place, as they are quoted above its JSON. */
export function quote(place: Evidence | Finding): string {
  return 'excerpt' in place ? place.excerpt : place.text;
}

/** What one update of a row is called on its tab: `call`, `62 %`, `completed`. */
export function step(update: Update): string {
  const body = update.params.update;
  if (body.sessionUpdate === 'tool_call') return 'call';
  if (body.sessionUpdate === 'session_info_update') return 'routing';
  if (body.sessionUpdate !== 'tool_call_update') return body.sessionUpdate.replaceAll('_', ' ');
  const { progress, approval } = openagents<ToolMeta>(body._meta);
  if (approval !== undefined) return `approval ${approval.state}`;
  if (body.status === 'in_progress' && progress !== undefined) return `${Math.round(progress * 100)} %`;
  return (body.status ?? 'update').replaceAll('_', ' ');
}

/** The whole notification as it stood on the wire. */
export function notification(update: Update): object {
  return { jsonrpc: '2.0', method: 'session/update', params: update.params };
}
