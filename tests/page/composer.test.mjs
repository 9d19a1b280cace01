// The composer: the agent's commands and its context. Played: other tests have real agents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { Played } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

/** A red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const COMMANDS = [
  { name: 'init', description: 'Writes a guide to this project' },
  { name: 'review', description: 'Reviews the changes of a branch', input: { hint: '[branch]' } },
  { name: 'compact', description: 'Sums up the conversation to free its context' },
  { name: 'memory show', description: 'Shows what is remembered' },
];

const states = (commands) => ({ sessionUpdate: 'available_commands_update', availableCommands: commands });
const by = (agent, update) => ({ ...update, _meta: { openagents: { agent } } });

async function open(options) {
  const tab = await Played.explored(browser, server, options);
  tab.played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'codex' });
  return tab;
}

const prompt = (tab) => tab.page.getByRole('textbox', { name: 'Prompt' });
const list = (tab) => tab.page.getByRole('listbox', { name: 'Commands' });

test("an agent's commands are found by typing, picked by key or click, and sent as a prompt", async () => {
  const tab = await open();
  const { page, played } = tab;
  played.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  await prompt(tab).fill('/');
  assert.equal(await list(tab).count(), 0, 'no agent has offered any');
  played.update(by('codex', states(COMMANDS)));
  await list(tab).getByRole('option').nth(3).waitFor();
  await tab.shootAll('composer-commands');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  assert.equal(await list(tab).getByRole('option', { selected: true }).locator('.name').textContent(), '/review');
  const active = await prompt(tab).getAttribute('aria-activedescendant');
  assert.equal(await page.locator(`[id="${active}"] .name`).textContent(), '/review');
  await page.keyboard.press('Enter');
  assert.equal(await prompt(tab).inputValue(), '/review ');
  await page.getByText('[branch]').waitFor();
  assert.equal(await list(tab).count(), 0);
  await page.keyboard.type('main');
  await page.keyboard.press('Enter');
  assert.equal(await prompt(tab).inputValue(), '');

  await prompt(tab).fill('/mem');
  await page.keyboard.press('Escape');
  assert.equal(await list(tab).count(), 0);
  await page.keyboard.type('o');
  await list(tab).getByRole('option', { name: '/memory show' }).click();
  assert.equal(await prompt(tab).inputValue(), '/memory show ');
  assert.ok(await prompt(tab).evaluate((field) => field === document.activeElement));

  // Complete as it is: sent, not completed.
  await prompt(tab).fill('/init');
  await page.keyboard.press('Enter');
  assert.equal(await prompt(tab).inputValue(), '');
  const sent = played.sent
    .filter(({ method }) => method === 'session/prompt')
    .map(({ params }) => params.prompt[0].text);
  assert.deepEqual(sent, ['/review main', '/init']);

  // Another agent does not know them.
  played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'default_mode' });
  await prompt(tab).fill('/i');
  assert.equal(await list(tab).count(), 0);
  await tab.close();
});

test('earlier prompts come back with the arrow keys, and a draft survives a reload', async () => {
  const tab = await open();
  const { page, played } = tab;
  for (const text of ['First question', 'Second question'])
    played.update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
  await page.locator('main').getByText('Second question').waitFor();
  await prompt(tab).focus();
  const value = () => prompt(tab).inputValue();
  const seen = [];
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']) {
    await page.keyboard.press(key);
    seen.push(await value());
  }
  assert.deepEqual(seen, [
    'Second question',
    'First question',
    'First question',
    'Second question',
    '',
    '',
    'Second question',
  ]);
  // What the user has changed is not replaced.
  await page.keyboard.press('End');
  await page.keyboard.type(' again');
  await page.keyboard.press('ArrowUp');
  assert.equal(await value(), 'Second question again');
  const { session } = played;
  await page.reload();
  await tab.live();
  const kept = await page.evaluate((id) => sessionStorage.getItem(`openagents.draft.${id}`), session);
  assert.equal(kept, 'Second question again');
  await page
    .getByRole('button', { name: /Explore harbour/ })
    .first()
    .click();
  await page.waitForFunction(() => document.querySelector('textarea')?.value === 'Second question again');
  await tab.close();
});

test('the context in use is shown, and compacted when it is nearly full', async () => {
  const tab = await open();
  const { page, played } = tab;
  played.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  const context = page.getByRole('group', { name: 'Context' });
  assert.equal(await context.count(), 0);
  played.update(by('codex', states(COMMANDS)));
  played.update(
    by('codex', {
      sessionUpdate: 'usage_update',
      used: 41_200,
      size: 258_400,
      cost: { amount: 0.312, currency: 'USD' },
    }),
  );
  await context.getByText('41.2K of 258K · $0.31').waitFor();
  assert.equal(await context.getByRole('button').count(), 0);
  await tab.shootAll('composer-context');
  played.update(by('codex', { sessionUpdate: 'usage_update', used: 240_000, size: 258_400 }));
  await context.getByRole('button', { name: 'Compact' }).click();
  await tab.shootAll('composer-context-full');
  assert.equal(played.sent.findLast(({ method }) => method === 'session/prompt').params.prompt[0].text, '/compact');
  await tab.close();
});

test('images and long pastes go with the prompt, and can be removed and edited', async () => {
  const tab = await open();
  const { page, played } = tab;
  played.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  const attached = page.getByRole('list', { name: 'Attachments' }).getByRole('listitem');
  // A screenshot of 3000 × 1500 pixels is made smaller before it is sent.
  const paste = (items) =>
    prompt(tab).evaluate(async (field, items) => {
      const data = new DataTransfer();
      for (const { text, width, height, type } of items) {
        if (text !== undefined) data.setData('text/plain', text);
        else if (type === 'application/pdf') data.items.add(new File(['%PDF'], 'plan.pdf', { type }));
        else {
          const canvas = new OffscreenCanvas(width, height);
          const draw = canvas.getContext('2d');
          draw.fillStyle = '#38a';
          draw.fillRect(0, 0, width, height);
          data.items.add(new File([await canvas.convertToBlob({ type })], `shot-${width}.png`, { type }));
        }
      }
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }, items);
  await prompt(tab).focus();
  await paste([{ width: 3_000, height: 1_500, type: 'image/png' }]);
  await page.getByRole('img', { name: 'shot-3000.png' }).waitFor();
  await paste([{ width: 40, height: 30, type: 'image/png' }]);
  await paste([{ text: 'line of a log\n'.repeat(60) }]);
  await page.getByRole('button', { name: 'Pasted 60 lines', exact: true }).waitFor();
  assert.equal(await attached.count(), 3);
  await tab.shootAll('composer-attachments');
  // A short paste goes into the field, as does text that comes with a picture of itself.
  await paste([{ text: 'short' }, { width: 4, height: 4, type: 'image/png' }]);
  await paste([{ type: 'application/pdf' }]);
  const hint = page.locator('#composer-hint');
  await hint.getByText("plan.pdf can't be read as a PNG, JPEG, GIF or WebP image.").waitFor();
  assert.equal(await attached.count(), 3);
  await page.getByRole('button', { name: 'Remove shot-40.png' }).click();
  await page.getByRole('button', { name: 'Pasted 60 lines', exact: true }).click();
  const editor = page.getByRole('dialog').getByRole('textbox', { name: 'Pasted text' });
  await editor.fill('two\nlines');
  await tab.shoot('composer-pasted');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Pasted 2 lines', exact: true }).waitFor();
  await prompt(tab).fill('Why does it look like this?');
  await page.keyboard.press('Enter');
  assert.equal(await attached.count(), 0);
  const { params } = played.sent.findLast(({ method }) => method === 'session/prompt');
  const [words, image, text] = params.prompt;
  assert.deepEqual(words, { type: 'text', text: 'Why does it look like this?' });
  assert.equal(image.mimeType, 'image/jpeg');
  assert.equal(text.resource.text, 'two\nlines');
  const [width, height] = await page.evaluate(async ({ mimeType, data }) => {
    const image = new Image();
    image.src = `data:${mimeType};base64,${data}`;
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  }, image);
  assert.deepEqual([width, height], [2_000, 1_000]);
  await tab.close();
});

test('images of a prompt are shown, a refused prompt gives them back, and blind agents get none', async () => {
  const tab = await open();
  const { page, played } = tab;
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
  played.answers['_openagents/images/read'] = ({ hash }) => {
    if (hash === 'gone') throw new Error('There is no such image in this session.');
    return { mimeType: 'image/png', data: PNG };
  };
  const said = (text, messageId, hash) => ({
    sessionUpdate: 'user_message_chunk',
    content: { type: 'text', text },
    messageId,
    _meta: { openagents: { images: [{ hash, mimeType: 'image/png', width: 1, height: 1 }] } },
  });
  played.update(said('Like this', 'q1', 'here'));
  await page.getByRole('img', { name: 'Image of the prompt' }).waitFor();
  played.update(said('', 'q2', 'gone'));
  await page.getByText("1 image couldn't be read").waitFor();
  played.update({
    sessionUpdate: 'user_message_chunk',
    content: { type: 'text', text: '' },
    messageId: 'q1',
    _meta: { openagents: { steered: true } },
  });
  await page.getByText('Sent during the turn').waitFor();
  await tab.shootAll('prompt-images');
  // Chosen in the file dialog; the bridge refuses the prompt.
  played.answers['session/prompt'] = () => {
    throw new Error('The images of a prompt may have 20 MiB at most together; send fewer or smaller ones.');
  };
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach images' }).click();
  await (await chosen).setFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') });
  const thumbnail = page.getByRole('img', { name: 'pixel.png' });
  await thumbnail.waitFor();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('The images of a prompt may have').waitFor();
  await thumbnail.waitFor();
  played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'gptoss_20b' });
  await page.locator('#composer-hint').getByText("The local model can't see images. Choose an agent.").waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await tab.close();
});

test('the first prompt takes images too, once an agent is chosen', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  played.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  played.answers['session/set_mode'] = () => ({});
  played.answers['_openagents/agents/options'] = () => ({ configOptions: [] });
  await page.goto(server.address);
  await tab.live();
  assert.equal(await page.getByRole('button', { name: 'Attach images' }).count(), 0);
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.locator('[data-choice=codex]').click();
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach images' }).click();
  await (await chosen).setFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') });
  await page.getByRole('img', { name: 'pixel.png' }).waitFor();
  await page.getByLabel('Prompt').fill('Why does it look like this?');
  await tab.shootAll('start-attachments');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('[data-mode=codex]').first().waitFor();
  const sent = () => played.sent.find(({ method }) => method === 'session/prompt');
  while (sent() === undefined) await page.waitForTimeout(20);
  assert.deepEqual(
    sent().params.prompt.map(({ type }) => type),
    ['text', 'image'],
  );
  await tab.close();
});

test('500 commands stay within the window and the field keeps up', async () => {
  const tab = await open({ size: 'phone' });
  const { page, played } = tab;
  const many = Array.from({ length: 500 }, (_, at) => ({ name: `command-${at}`, description: 'x'.repeat(512) }));
  played.update(by('codex', states(many)));
  await prompt(tab).fill('/command-49');
  await list(tab).getByRole('option').nth(9).waitFor();
  assert.equal(await list(tab).getByRole('option').count(), 11);
  const { x, width } = await list(tab).boundingBox();
  assert.ok(x >= 0 && x + width <= page.viewportSize().width);
  await tab.shoot('composer-many-commands');
  await tab.close();
});

test('files, definitions and sessions are named by typing a part of them', async () => {
  const tab = await open();
  const { page, played } = tab;
  const sent = [];
  played.answers['session/prompt'] = ({ prompt: blocks }) => {
    sent.push(blocks[0].text);
    return { stopReason: 'end_turn' };
  };
  const files = page.getByRole('listbox', { name: 'Files, definitions and sessions' });
  await prompt(tab).pressSequentially('Look at @pair');
  await files.getByRole('option').nth(1).waitFor();
  await tab.shootAll('composer-files');
  assert.equal(await files.getByRole('option', { selected: true }).locator('.name').textContent(), '@pair.rs');
  await page.keyboard.press('Enter');
  assert.equal(await prompt(tab).inputValue(), 'Look at @src/pair.rs ');
  assert.equal(await files.count(), 0);
  await page.keyboard.type('(@nothing-like-this');
  await files.waitFor({ state: 'detached' });
  // What is complete is sent.
  await prompt(tab).fill('');
  await prompt(tab).pressSequentially('@README.md');
  await files.getByRole('option').first().waitFor();
  await page.waitForFunction(
    () => document.querySelector('[role=listbox] [aria-selected=true] .name')?.textContent === '@README.md',
  );
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('textarea[aria-label=Prompt]')?.value === '');
  assert.deepEqual(sent, ['@README.md']);
  await prompt(tab).pressSequentially('@src');
  await files.getByRole('option').first().waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await files.count(), 0);

  // A definition is named by its place, a session goes along as text.
  played.answers['_openagents/files/find'] = () => ({
    files: ['src/pair.rs'],
    symbols: [{ name: 'pair_device', path: 'src/pair.rs', line: 12 }],
  });
  const past = { provider: 'codex', agent: 'Codex', updatedAt: 0 };
  played.answers['_openagents/sessions/search'] = () => ({
    sessions: [
      { ...past, id: 'past', title: 'Pairing of devices', cwd: fixture.workspace },
      { ...past, id: 'other', title: 'Pairing elsewhere', cwd: '/another/folder' },
    ],
  });
  played.answers['_openagents/sessions/excerpt'] = ({ provider, id }) => ({
    text: `User: Pair it (${provider} ${id})`,
  });
  await prompt(tab).fill('');
  await prompt(tab).pressSequentially('Fix @pair');
  await files.getByRole('option', { name: 'Session · Codex' }).waitFor();
  assert.equal(await files.getByText('Pairing elsewhere').count(), 0, 'sessions of other folders are left out');
  await tab.shootAll('composer-mentions');
  await files.getByRole('option', { name: 'pair_device' }).click();
  assert.equal(await prompt(tab).inputValue(), 'Fix @src/pair.rs:12 ');
  await prompt(tab).pressSequentially('as in @pairing');
  await files.getByRole('option', { name: 'Pairing of devices' }).click();
  assert.equal(await prompt(tab).inputValue(), 'Fix @src/pair.rs:12 as in ');
  await page.getByRole('list', { name: 'Attachments' }).getByText('Session: Pairing of devices').click();
  const text = page.getByRole('dialog').getByRole('textbox');
  assert.equal(await text.inputValue(), 'User: Pair it (codex past)');
  await tab.shoot('composer-session');
  await tab.close();
});
