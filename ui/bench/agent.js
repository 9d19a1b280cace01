// `make bench-page`, third part: what an agent with much to say costs the page: 500 commands, 500 models, options that
// change 1,000 times a second, 50,000 updates of one session, and a picture of 20 MB in the composer.

import process from 'node:process';
import { launch } from '../../tests/page/browser.mjs';
import { Fixture } from '../../tests/page/fixture.mjs';
import { asked, call, news, Played, said } from '../../tests/page/played.mjs';
import { Server } from '../../tests/page/server.mjs';
import { say, traced } from './trace.js';

const MANY = 500;
const CHANGES = 1_000;
const SECONDS = 3;
const UPDATES = 50_000;
/** Noise, which no compression makes smaller: 4 bytes a pixel. */
const PICTURE = { width: 2_560, height: 2_048 };

const by = (update) => ({ ...update, _meta: { openagents: { agent: 'codex' } } });
const models = (current) =>
  by({
    sessionUpdate: 'config_option_update',
    configOptions: [
      {
        id: 'codex/model',
        name: 'Model',
        category: 'model',
        type: 'select',
        currentValue: `m${current}`,
        options: Array.from({ length: MANY }, (_, at) => ({
          value: `m${at}`,
          name: `Model ${at}`,
          description: `The model with the number ${at}`,
        })),
      },
    ],
  });

const fixture = await Fixture.create();
const server = await Server.start(fixture);
const browser = await launch();
const tab = await Played.explored(browser, server, {});
try {
  const { page, played } = tab;
  page.setDefaultTimeout(120_000);
  const field = page.getByRole('textbox', { name: 'Prompt' });
  played.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'codex' });
  played.update(
    by({
      sessionUpdate: 'available_commands_update',
      availableCommands: Array.from({ length: MANY }, (_, at) => ({
        name: `command ${at}`,
        description: `Does what is number ${at}`,
      })),
    }),
  );
  played.update(models(0));
  await page.getByRole('button', { name: /Model 0/ }).waitFor();
  say(
    `typing into ${MANY} commands`,
    await traced(browser, page, async () => {
      await field.focus();
      for (const key of '/command 42') await page.keyboard.press(key === ' ' ? 'Space' : key);
      await page
        .getByRole('option', { name: /command 42/ })
        .first()
        .waitFor();
    }),
    null,
  );
  await field.fill('');
  say(
    `opening the picker of ${MANY} models`,
    await traced(browser, page, async () => {
      await page.getByRole('button', { name: /Model 0/ }).click();
      await page.getByText('Model 7', { exact: true }).first().waitFor();
      await page.keyboard.type('Model 42');
      await page.waitForTimeout(300);
    }),
    null,
  );
  await page.keyboard.press('Escape');
  say(
    `${CHANGES} changes of ${MANY} models a second, for ${SECONDS} s`,
    await traced(browser, page, async () => {
      for (let second = 0; second < SECONDS; second += 1) {
        const until = Date.now() + 1_000;
        for (let at = 0; at < CHANGES; at += 1) played.update(models(at % 2), { ms: 1 });
        await page.waitForTimeout(Math.max(0, until - Date.now()));
      }
      await page.getByRole('button', { name: /Model 1/ }).waitFor();
    }),
    null,
  );
  const begun = Date.now();
  const many = await traced(browser, page, async () => {
    for (let at = 0; at < UPDATES / 5; at += 1) {
      played.update(asked(`Question ${at}`), { ms: 1 });
      played.update(call(`c${at}`, { title: `cargo test case_${at}`, kind: 'execute', status: 'in_progress' }), {
        ms: 1,
      });
      played.update(news(`c${at}`, { status: 'completed' }), { ms: 1 });
      played.update(said(`Answer ${at}: `), { ms: 1 });
      played.update(said('it is as it is.', { ended: true }), { ms: 1 });
    }
    await page.getByText(`Answer ${UPDATES / 5 - 1}: it is as it is.`).waitFor();
  });
  say(`${UPDATES} updates, in ${((Date.now() - begun) / 1000).toFixed(1)} s`, many, null);
  const pasted = Date.now();
  let bytes = 0;
  const picture = await traced(browser, page, async () => {
    bytes = await field.evaluate(async (element, { width, height }) => {
      const canvas = new OffscreenCanvas(width, height);
      const draw = canvas.getContext('2d');
      const noise = draw.createImageData(width, height);
      for (let at = 0; at < noise.data.length; at += 65_536)
        crypto.getRandomValues(noise.data.subarray(at, Math.min(at + 65_536, noise.data.length)));
      draw.putImageData(noise, 0, 0);
      const file = new File([await canvas.convertToBlob({ type: 'image/png' })], 'noise.png', { type: 'image/png' });
      const data = new DataTransfer();
      data.items.add(file);
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
      return file.size;
    }, PICTURE);
    await page.getByRole('img', { name: 'noise.png' }).waitFor();
  });
  const seconds = ((Date.now() - pasted) / 1000).toFixed(1);
  say(`a picture of ${(bytes / 1e6).toFixed(0)} MB, made and attached in ${seconds} s`, picture, null);
  await page.getByRole('button', { name: 'Send' }).click();
  const sent = played.sent.findLast(({ method }) => method === 'session/prompt');
  process.stdout.write(`  sent as ${(JSON.stringify(sent).length / 1e6).toFixed(1)} MB\n`);
} finally {
  await browser.close();
  await server.stop();
  await fixture.remove();
}
