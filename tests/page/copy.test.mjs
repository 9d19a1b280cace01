// Copying from the timeline, code in colours, and images.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { SIZES, Tab, THEMES } from './browser.mjs';
import { asked, call, news, Played, said } from './played.mjs';
import { browser, server } from './stage.mjs';

const PNG = gradient(640, 400);
const RUST = 'fn pair(code: &str) -> bool {\n    !code.is_empty() // never empty\n}\n';
const ANSWER = `It is **here**:\n\n\`\`\`rust\n${RUST}\`\`\`\n\nAnd in a list:\n\n- \`\`\`sh\n  cargo test\n  \`\`\`\n`;
/** The HTML of the answer, as a bridge that highlights code has it. */
const HTML = `<p>It is <strong>here</strong>:</p>\n<pre><code class="language-rust"><span class="hl-keyword">fn</span> <span class="hl-function">pair</span>(code: &amp;<span class="hl-type">str</span>) -&gt; <span class="hl-type">bool</span> {\n    !code.is_empty() <span class="hl-comment">// never empty</span>\n}\n</code></pre>\n<p>And in a list:</p>\n<ul>\n<li><pre><code class="language-sh"><span class="hl-function">cargo</span> test\n</code></pre>\n</li>\n</ul>\n`;

/** An image as base64. */
function gradient(width, height) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const rows = Buffer.concat(
    Array.from({ length: height }, (_, y) =>
      Buffer.from([0, ...Array.from({ length: width }, (_, x) => [(255 * x) / width, (255 * y) / height, 120]).flat()]),
    ),
  );
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64');
}

async function stage(options) {
  const tab = await Tab.open(browser, { permissions: ['clipboard-read', 'clipboard-write'], ...options });
  const played = await Played.on(tab.page);
  played.answers['_openagents/markdown'] = ({ text }) => ({ html: text === ANSWER ? HTML : `<p>${text}</p>` });
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await played.follow(tab.page);
  return { tab, page: tab.page, played };
}

const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

for (const size of Object.keys(SIZES)) {
  test(`${size}: code, messages, prompts, commands and outputs are copied`, async () => {
    const { tab, page, played } = await stage({ size });
    played.update(asked('Where is it?'));
    played.update(
      call('run', {
        name: 'Bash',
        title: 'cargo test',
        kind: 'execute',
        status: 'in_progress',
        rawInput: { command: 'cargo test --all' },
      }),
    );
    played.update(
      news('run', {
        status: 'completed',
        content: [{ type: 'content', content: { type: 'text', text: 'ok\n'.repeat(20) } }],
      }),
    );
    const terminal = { command: 'ls -l', output: '\u001b[32mtotal\u001b[0m 0\n', exitCode: 0 };
    played.update(
      call('list', {
        name: 'Shell',
        title: 'List files',
        kind: 'execute',
        status: 'completed',
        content: [{ type: 'terminal', terminalId: 't', _meta: { openagents: { terminal } } }],
      }),
    );
    played.update(said(ANSWER, { ended: true }));
    const copies = async (locator, name, expected) => {
      if (size === 'desktop') await locator.hover();
      const button = locator.getByRole('button', { name, exact: true }).first();
      assert.equal(
        await button.evaluate((element) => getComputedStyle(element.closest('.corner')).opacity),
        '1',
        `${name} can be seen`,
      );
      await button.click();
      await locator.getByText('Copied').first().waitFor({ state: 'attached' });
      assert.equal(await clipboard(page), expected);
    };
    const message = page.locator('.message', { hasText: 'And in a list' });
    await message.locator('.hl-keyword').waitFor();
    await copies(message.locator('pre').first(), 'Copy code', RUST.trimEnd());
    await copies(message.locator('pre').nth(1), 'Copy code', 'cargo test');
    await copies(message, 'Copy message', ANSWER);
    await tab.shoot('copy');
    const prompt = page.locator('.user', { hasText: 'Where is it?' });
    await prompt.scrollIntoViewIfNeeded();
    await copies(prompt, 'Copy prompt', 'Where is it?');
    await copies(page.locator('.call', { hasText: 'cargo test' }), 'Copy command', 'cargo test --all');
    await copies(page.locator('.output-of'), 'Copy output', 'ok\n'.repeat(20));
    await copies(page.locator('[data-terminal]'), 'Copy command', 'ls -l');
    await copies(page.locator('[data-terminal]'), 'Copy output', 'total 0\n');
    await tab.shoot('copy-commands');
    await tab.close();
  });
}

test("a code block's copy button survives growing text and is reachable by keyboard", async () => {
  const { tab, page, played } = await stage();
  played.answers['_openagents/markdown'] = ({ text }) => ({ html: `<pre><code>${text}</code></pre>` });
  played.update(asked('Go on'));
  played.update(said('one'));
  const message = page.locator('.message').last();
  await message.getByRole('button', { name: 'Copy code' }).waitFor({ state: 'attached' });
  played.update(said(' two', { ended: true }));
  await message.locator('code').getByText('one two').waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.message pre button').length === 1);
  const before = await message.locator('pre').boundingBox();
  const button = message.getByRole('button', { name: 'Copy code' });
  await button.focus();
  assert.equal(await button.evaluate((element) => getComputedStyle(element.closest('.corner')).opacity), '1');
  await page.keyboard.press('Enter');
  await message.getByText('Copied').first().waitFor({ state: 'attached' });
  assert.equal(await clipboard(page), 'one two');
  assert.deepEqual(await message.locator('pre').boundingBox(), before, 'nothing moves');
  await tab.close();
});

test('code in both themes', async () => {
  for (const theme of THEMES) {
    const { tab, page, played } = await stage({ theme });
    played.update(asked('Where is it?'));
    played.update(said(ANSWER, { ended: true }));
    await page.locator('.message .hl-keyword').waitFor();
    await tab.shoot('code');
    await tab.close();
  }
});

test('images are drawn, and one is shown in full size', async () => {
  const image = (mimeType) => ({ type: 'image', data: PNG, mimeType });
  const { tab, page, played } = await stage();
  played.update({ ...asked('What is this?'), messageId: 'p1' });
  played.update({ sessionUpdate: 'user_message_chunk', messageId: 'p1', content: image('image/png') });
  played.update(
    call('shot', {
      name: 'screenshot',
      title: 'Take a screenshot',
      status: 'completed',
      content: [{ type: 'content', content: image('image/png') }],
    }),
  );
  played.update({ sessionUpdate: 'agent_message_chunk', content: image('image/svg+xml') });
  played.update(said(' cannot be drawn.', { ended: true }));
  const prompt = page.getByRole('button', { name: 'Image of the prompt: show in full size' });
  await prompt.locator('img').evaluate((element) => element.decode());
  await page.getByRole('img', { name: 'Image of the result' }).waitFor();
  await page.getByText('[Image] cannot be drawn.').waitFor();
  await prompt.click();
  const dialog = page.getByRole('dialog', { name: 'Image of the prompt' });
  await dialog.getByRole('img').waitFor();
  await tab.shoot('image');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await prompt.evaluate((element) => element === document.activeElement), true);
  await tab.close();
});
