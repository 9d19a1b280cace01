// acpx, a command-line client of others, against `openagents acp` on standard input and output.

import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Stage } from './stage.mjs';

const ACPX = fileURLToPath(new URL('node_modules/acpx/dist/cli.js', import.meta.url));

let stage;
let mode;

before(async () => {
  stage = await Stage.open();
  // Between two commands there is no client, and a temporary bridge would end with its agents when the machine is busy.
  await stage.serve();
  mode = await stage.addScriptedAgent();
});

after(() => stage.close());

/** Its answer as the lines of JSON that it prints. */
const acpx = async (...args) => {
  const flags = ['--format', 'json', '--ttl', '1', '--agent', stage.agent];
  const ended = await stage.run(process.execPath, [ACPX, ...flags, ...args]);
  const lines = ended.out.split('\n').filter((line) => line.startsWith('{'));
  return { ...ended, frames: lines.map((line) => JSON.parse(line)) };
};

const updates = ({ frames }, kind) =>
  frames
    .filter(({ method }) => method === 'session/update')
    .map(({ params }) => params.update)
    .filter(({ sessionUpdate }) => sessionUpdate === kind);

test('answers a question by what it finds', async () => {
  const ended = await acpx('exec', 'What does this project do?');
  assert.equal(ended.code, 0, ended.err);
  assert.match(updates(ended, 'agent_message_chunk').at(-1).content.text, /^[^*\n]+ \(`README\.md:\d+/);
  assert.equal(ended.frames.findLast(({ result }) => result?.stopReason).result.stopReason, 'end_turn');
});

// A denial is told by its exit code.
for (const [policy, code, written] of [['--approve-all', 0, true], ['--deny-all', 5, false]]) {
  test(`${policy}: in a session that it comes back to`, async () => {
    assert.equal((await acpx('sessions', 'new')).code, 0);
    const set = await acpx('set-mode', mode);
    assert.equal(set.code, 0, set.err);
    const file = `made${policy}.txt`;
    const asked = await acpx(policy, 'prompt', `[[edit ${file}]]`);
    assert.equal(asked.code, code, asked.err);
    const is = await access(`${stage.workspace}/${file}`).then(() => true, () => false);
    assert.equal(is, written);
    const again = await acpx(policy, 'prompt', '[[say Back again.]]');
    const said = updates(again, 'agent_message_chunk').map(({ content }) => content.text);
    assert.equal(said.join(''), 'Back again.', `${again.code} ${again.err} ${again.out}`);
    assert.equal((await acpx('sessions', 'close')).code, 0);
  });
}
