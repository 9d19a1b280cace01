// The stage of the local model tests: a server of its own, a small model repository and a small model.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Tab } from './browser.mjs';
import { Fixture } from './fixture.mjs';
import { Repository } from './repository.mjs';
import { BUILT, Server } from './server.mjs';

/** Size of the file that can be downloaded, in bytes. */
const SIZE = 4_000_000;

/** The card of the model that can be downloaded. */
export const offered = (page) => page.locator('[data-model="gpt-oss-20b"]');

export class ModelsStage {
  /** `held`: bytes that the repository serves before it is released; `ready`: a model can answer; `script`: its answers. */
  static async set({ held = Infinity, ready = false, script = 'explorer' } = {}) {
    const stage = new ModelsStage();
    stage.repository = await Repository.start(SIZE, held);
    stage.fixture = await Fixture.create();
    stage.fixture.env = {
      OPENAGENTS_MODELS_URL: stage.repository.address,
      OPENAGENTS_LLAMA_MODEL: ready ? await stage.scripted(script) : '',
    };
    stage.server = await Server.start(stage.fixture);
    return stage;
  }

  /** The path of the finished download. */
  get file() {
    return join(this.fixture.home, 'models', 'gpt-oss-20b-MXFP4.gguf');
  }

  /** Writes a scripted gpt-oss and returns its path. */
  async scripted(script = 'explorer') {
    const path = join(this.fixture.base, 'scripted.gguf');
    await promisify(execFile)(`${BUILT}/scripted-gptoss`, [path, script]);
    return path;
  }

  /** Opens a tab on Settings → Models. */
  async settings(browser, options) {
    const tab = await Tab.open(browser, options);
    await tab.page.goto(this.server.address);
    await tab.live();
    await tab.page.keyboard.press('Control+,');
    await tab.page.getByRole('heading', { name: 'Models' }).waitFor();
    return tab;
  }

  /** Adds a model file by its path; the first one answers at once. */
  async add(page, path) {
    await page.getByLabel('Add a GGUF file').fill(path);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('article', { hasText: path }).waitFor();
  }

  /** Accepts the licence and starts the download. */
  async download(page) {
    const card = offered(page);
    await card.getByRole('button', { name: /^Download/ }).click();
    await card.getByLabel('I have read the licence and accept it').check();
    await card.getByRole('button', { name: 'Accept and download' }).click();
    return card;
  }

  async strike() {
    await this.server?.stop();
    this.repository?.stop();
    await this.fixture?.remove();
  }
}
