// Questions of agents: a form in the timeline and on a phone, and an address to open. Played: other tests have real
// agents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approval, call, Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const OPTIONS = [
  { id: 'accept', name: 'Answer', kind: 'allow_once' },
  { id: 'decline', name: 'Decline', kind: 'reject_once' },
];
const FORM = {
  message: 'Please answer the following questions.',
  fields: [
    {
      name: 'db',
      title: 'Database',
      description: 'Which database should the service use?',
      required: true,
      type: 'choice',
      choices: [
        { value: 'SQLite', title: 'SQLite', description: 'One file, nothing to run' },
        { value: 'Postgres', title: 'Postgres', description: 'A server of its own' },
      ],
    },
    {
      name: 'features',
      title: 'Features',
      type: 'choices',
      choices: ['Login', 'Search', 'Export'].map((value) => ({ value, title: value })),
      default: ['Search'],
    },
    { name: 'port', title: 'Port', type: 'number', integer: true, minimum: 1, maximum: 65_535 },
    { name: 'note', title: 'Anything else', type: 'text' },
    { name: 'tests', title: 'Write tests too', type: 'boolean', default: true },
  ],
};

const question = (rawInput, more) =>
  approval('ask', { subject: 'question', title: rawInput.message, rawInput, options: OPTIONS, ...more });

async function open(options) {
  const tab = await Played.explored(browser, server, options);
  tab.played.update(call('ask', { title: 'Ask the user', kind: 'other' }));
  return tab;
}

const sent = (tab) => tab.played.sent.filter(({ method }) => method === '_openagents/approvals/answer');

function answering(tab, rawInput) {
  tab.played.answers['_openagents/approvals/answer'] = ({ optionId, content }) => {
    const answered = question(rawInput, { state: 'answered', optionId, content, by: 'Browser', at: Date.now() });
    tab.played.update(answered);
    return answered._meta.openagents.approval;
  };
}

test('a question is answered by keyboard, and the answer stays visible', async () => {
  const tab = await open();
  const { page, played } = tab;
  answering(tab, FORM);
  played.update(question(FORM));
  const form = page.locator('main [data-question]').first();
  await form.getByText('Which database should the service use?').waitFor();
  await tab.shootAll('question');
  const answer = form.getByRole('button', { name: 'Answer' });
  assert.ok(await answer.isDisabled(), 'the database is required');
  await form.getByRole('radio', { name: 'SQLite' }).press('ArrowDown');
  await form.getByRole('radio', { name: 'Postgres', checked: true }).waitFor();
  await form.getByRole('checkbox', { name: 'Login' }).press(' ');
  await form.getByRole('textbox', { name: 'Port' }).fill('70000');
  assert.ok(await answer.isDisabled());
  await form.getByRole('textbox', { name: 'Port' }).fill('5432');
  await page.waitForFunction(() => document.querySelector('main [data-question] [type=submit]')?.disabled === false);
  await form.getByLabel('Anything else').press('Enter');
  await page
    .getByText(
      'Answered on Browser: Database: “Postgres” · Features: “Search, Login” · Port: “5432” · Write tests too: “Yes”',
    )
    .waitFor();
  assert.deepEqual(sent(tab)[0].params.content, {
    db: 'Postgres',
    features: ['Search', 'Login'],
    port: 5432,
    tests: true,
  });
  await tab.close();
});

test('a question is declined on a phone', async () => {
  const tab = await open({ size: 'phone' });
  const { page, played } = tab;
  answering(tab, FORM);
  played.update(question(FORM));
  const sheet = page.getByRole('dialog');
  await sheet.getByText('Which database should the service use?').waitFor();
  await tab.shoot('question-sheet');
  await sheet.getByRole('button', { name: 'Decline' }).click();
  await page.getByText('Declined on Browser').first().waitFor();
  assert.equal(sent(tab)[0].params.content, undefined);
  await tab.close();
});

test('an address is shown whole, with its host marked, and opened only by a click', async () => {
  const tab = await open();
  const { page, played } = tab;
  const form = { message: 'Log in to continue', fields: [], url: 'https://login.example/device?code=ABCD-1234' };
  answering(tab, form);
  const options = [{ ...OPTIONS[0], name: 'Open in browser' }, OPTIONS[1]];
  played.update(question(form, { options }));
  const card = page.locator('main [data-question]').first();
  await card.getByText('https://login.example/device?code=ABCD-1234').waitFor();
  assert.equal(await card.locator('strong').textContent(), 'login.example');
  await tab.shootAll('question-address');
  const link = card.getByRole('link', { name: 'Open in browser' });
  assert.deepEqual(
    [await link.getAttribute('href'), await link.getAttribute('rel')],
    [form.url, 'noopener noreferrer'],
  );
  await tab.page.context().route('https://login.example/**', (route) => route.fulfill({ body: 'hello' }));
  await page.waitForFunction(
    () => document.querySelector('main [data-question] a')?.getAttribute('aria-disabled') === 'false',
  );
  const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()]);
  assert.equal(opened.url(), form.url);
  await page.getByText('Answered on Browser').waitFor();
  await tab.close();
});
