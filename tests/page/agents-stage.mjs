// The stage of the agent tests: a server of its own that finds no agent on this machine, and `fake-agent` to add.

import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Tab } from './browser.mjs';
import { Fixture } from './fixture.mjs';
import { BUILT, PROGRAM, Server } from './server.mjs';

/** An ACP agent that follows the instructions of its prompt. */
export const FAKE = `${BUILT}/fake-agent`;

export class AgentsStage {
  /** `trusts`: a person trusts the workspace, so that agents start without a question. */
  static async set({ trusts = true } = {}) {
    const stage = new AgentsStage();
    stage.trusts = trusts;
    stage.fixture = await Fixture.create();
    const nothing = join(stage.fixture.base, 'bin');
    await mkdir(nothing);
    // Agents that are installed here are not found.
    stage.fixture.env = {
      OPENAGENTS_AGENT_PATH: `${nothing}:/usr/bin:/bin`,
      OPENAGENTS_LLAMA_MODEL: '',
      OPENAGENTS_MODELS_URL: 'http://127.0.0.1:9',
    };
    stage.server = await Server.start(stage.fixture);
    if (trusts) await stage.trust();
    return stage;
  }

  /** Trusts the workspace on the command line. */
  trust() {
    return promisify(execFile)(PROGRAM, ['workspaces', 'trust', this.fixture.workspace, '--yes'], {
      env: { ...process.env, OPENAGENTS_HOME: this.fixture.home },
    });
  }

  /** Opens a tab; `name` is its name on other devices. */
  async open(browser, options) {
    const tab = await Tab.open(browser, options);
    await tab.page.goto(this.server.address);
    await tab.live();
    return tab;
  }

  /** Opens Settings → Agents. */
  async settings(tab) {
    const { page } = tab;
    await page.keyboard.press('Control+,');
    await page.getByRole('button', { name: 'Agents', exact: true }).click();
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
  }

  /** Adds an agent through the form. */
  async add(tab, name, command = FAKE) {
    const { page } = tab;
    await page.getByRole('button', { name: 'Add an agent' }).click();
    await page.locator('#agent-name').fill(name);
    await page.locator('#agent-command').fill(command);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('form', { name: 'Add an agent' }).waitFor({ state: 'detached' });
  }

  /** Adds `fake-agent` with the id `fake` and leaves the settings. */
  async addFake(tab) {
    await this.settings(tab);
    await this.add(tab, 'Fake');
    await tab.page.locator('[data-agent="custom:fake"][data-agent-state=ready]').waitFor();
    await tab.page.keyboard.press('Escape');
    // An agent that was added since may act without asking you: trusting the folder again names it, and lets it start.
    if (this.trusts) await this.trust();
  }

  /** Starts a session with the agent. */
  async ask(tab, prompt) {
    await tab.page.getByRole('button', { name: 'New exploration' }).click();
    await this.start(tab, prompt);
  }

  /** Starts a session with the agent on the page that a tab opens with. */
  async start(tab, prompt) {
    const { page } = tab;
    if ((await page.locator('[data-mode="custom:fake"]').count()) === 0) await tab.pick('custom:fake');
    await page.getByLabel('Prompt', { exact: true }).fill(prompt);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('.user p', { hasText: prompt }).waitFor();
  }

  /** Sends a prompt in the session that is open. */
  async prompt(tab, text) {
    const field = tab.page.getByLabel('Prompt', { exact: true });
    await field.fill(text);
    await field.press('Enter');
  }

  /** Opens the newest session in another tab. */
  async follow(browser, tab, options) {
    const other = await this.open(browser, options);
    await other.page.goto(`${this.server.origin}/${new URL(tab.page.url()).hash}`);
    await other.page.getByLabel('Prompt', { exact: true }).waitFor();
    return other;
  }

  async strike() {
    await this.server?.stop();
    await this.fixture?.remove();
  }
}
