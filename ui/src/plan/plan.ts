import { openagents } from '../connection/protocol';
import type { EntryMeta, PlanMeta, SessionUpdate } from '../connection/wire';

export type StepState = 'pending' | 'running' | 'done' | 'failed' | 'not-run';
export type PlanState = 'idle' | 'running' | 'complete' | 'failed' | 'cancelled';

export interface Step {
  content: string;
  state: StepState;
  tool?: string;
  error?: string;
}

export interface PlanView {
  planId: string | null;
  state: PlanState;
  steps: Step[];
  goals: string[];
  /** The bridge's clock at the first and at the newest update of this run. */
  startedAt: number;
  updatedAt: number;
}

export type PlanUpdate = Extract<SessionUpdate, { sessionUpdate: 'plan' }>;

const TITLES: Record<PlanState, string> = {
  idle: 'Plan Idle',
  running: 'Plan Running',
  complete: 'Plan Complete',
  failed: 'Plan Failed',
  cancelled: 'Plan Cancelled',
};

/** If a plan names a step twice, the most advanced state is shown. */
const RANK: Record<StepState, number> = { pending: 0, 'not-run': 1, running: 2, failed: 3, done: 4 };

export function title(state: PlanState): string {
  return TITLES[state];
}

export function planView(update: PlanUpdate, ts: number, before: PlanView | null): PlanView {
  const meta = openagents<PlanMeta>(update._meta);
  const planId = meta.planId ?? null;
  const steps = distinct(update.entries.map(step));
  const sameRun = before !== null && before.planId === planId;
  return {
    planId,
    state: planState(meta.state, steps),
    steps,
    goals: meta.goals ?? [],
    startedAt: sameRun ? before.startedAt : ts,
    updatedAt: ts,
  };
}

/** A plan whose run ended without saying so: nothing in it is running. */
export function stilled(plan: PlanView): PlanView {
  if (plan.state !== 'running') return plan;
  return { ...plan, state: 'failed', steps: plan.steps.map(stilledStep) };
}

function stilledStep(step: Step): Step {
  if (step.state === 'running') return { ...step, state: 'not-run', error: 'not finished' };
  return step.state === 'pending' ? { ...step, state: 'not-run', error: 'not run' } : step;
}

function step(entry: PlanUpdate['entries'][number]): Step {
  const meta = openagents<EntryMeta>(entry._meta);
  return {
    content: entry.content,
    state: stepState(entry.status, meta.error),
    ...(meta.tool === undefined ? {} : { tool: meta.tool }),
    ...(meta.error === undefined ? {} : { error: meta.error }),
  };
}

function stepState(status: string, error: string | undefined): StepState {
  if (status === 'pending') return 'pending';
  if (status === 'in_progress') return 'running';
  if (error === undefined) return 'done';
  // A step that was stopped has not failed.
  return error === 'not run' || /^cancelled\b/i.test(error) ? 'not-run' : 'failed';
}

function distinct(steps: Step[]): Step[] {
  const best = new Map<string, Step>();
  for (const candidate of steps) {
    const known = best.get(candidate.content);
    if (known === undefined || RANK[candidate.state] > RANK[known.state]) best.set(candidate.content, candidate);
  }
  return [...best.values()];
}

function planState(stated: string | undefined, steps: Step[]): PlanState {
  if (stated === 'running' || stated === 'complete' || stated === 'failed' || stated === 'cancelled') return stated;
  const over = steps.every((s) => s.state !== 'pending' && s.state !== 'running');
  if (!over) return 'running';
  return steps.length > 0 && steps.every((s) => s.state === 'failed') ? 'failed' : 'complete';
}

/** The number of steps that ended, in success or failure. */
export function finished(steps: Step[]): number {
  return steps.filter((s) => s.state === 'done' || s.state === 'failed').length;
}

export function failed(steps: Step[]): number {
  return steps.filter((s) => s.state === 'failed').length;
}

/** `3 of 5 · 1 failed · 0.4 s` */
export function count(plan: PlanView, elapsed: string): string {
  const bad = failed(plan.steps);
  return [
    `${finished(plan.steps)} of ${plan.steps.length}`,
    ...(bad > 0 ? [`${bad} failed`] : []),
    ...(elapsed === '' ? [] : [elapsed]),
  ].join(' · ');
}
