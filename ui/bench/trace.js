// What a page's main thread does, from Chromium's own trace.

import process from 'node:process';

/** The events of a trace that are script, style and layout. */
const WORK = new Set([
  'EventDispatch',
  'FunctionCall',
  'FireAnimationFrame',
  'TimerFire',
  'RunMicrotasks',
  'UpdateLayoutTree',
  'Layout',
]);

/**
 * Traces the page's main thread: its tasks, and the script and layout of each frame, in milliseconds of processor time. Without a
 * graphics card the threads that draw take the same cores, which is not what is measured.
 */
export async function traced(browser, page, act) {
  await browser.startTracing(page, {
    categories: [
      'toplevel',
      'devtools.timeline',
      'disabled-by-default-devtools.timeline',
      'disabled-by-default-devtools.timeline.frame',
    ],
  });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const own = traceEvents.filter(({ pid, tid }) => mains.has(`${pid} ${tid}`)).toSorted((a, b) => a.ts - b.ts);
  const tasks = own
    .filter(({ name, ph }) => name === 'RunTask' && ph === 'X')
    .map(({ dur = 0, tdur = dur }) => Math.min(dur, tdur) / 1000);
  const starts = own.filter(({ name }) => name === 'BeginMainThreadFrame').map(({ ts }) => ts);
  const frames = starts.map(() => 0);
  let [at, until] = [0, 0];
  for (const { name, ts, dur = 0, tdur = dur } of own) {
    // What is inside of another one is part of it.
    if (!WORK.has(name) || ts < until) continue;
    until = ts + dur;
    while (at + 1 < starts.length && starts[at + 1] <= ts) at += 1;
    frames[at] += Math.min(dur, tdur) / 1000;
  }
  return {
    longest: Math.max(0, ...tasks),
    over: tasks.filter((task) => task > 50).length,
    frames: frames.length,
    p95: quantile(frames, 0.95),
    median: quantile(frames, 0.5),
  };
}

function quantile(numbers, share) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;
}

export function say(what, { longest, over, frames, p95, median, mounted }, used) {
  const parts = [
    `longest task ${longest.toFixed(1)} ms`,
    `${over} over 50`,
    `script and layout of ${frames} frames: median ${median.toFixed(1)}, p95 ${p95.toFixed(1)} ms`,
  ];
  if (mounted !== undefined) parts.push(`${mounted} rows mounted`);
  if (used !== null) parts.push(`heap ${used.toFixed(0)} MB`);
  process.stdout.write(`${what.padEnd(46)} ${parts.join(', ')}\n`);
}
