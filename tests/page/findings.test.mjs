// Findings of a question, as cards. Played: other tests cover the search and its ranking.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { asked, Played, said } from './played.mjs';
import { browser, server } from './stage.mjs';

const lines = (from, to, line) => Array.from({ length: to - from + 1 }, (_, at) => line(from + at)).join('\n');

const PAIR = `/// Pairs a phone with this computer. The code works once, and for five minutes.
pub fn pair_device(code: &Code, device: NewDevice, now: Instant) -> Result<Token, PairError> {
    let offer = self.offers.get(code).ok_or(PairError::UnknownCode)?;
    if now.duration_since(offer.created) > CODE_LIFETIME {
        self.offers.remove(code);
        return Err(PairError::Expired);
    }
    let token = Token::random(&mut self.random);
    self.devices.insert(device.id, Device::new(device, token.hash()));
    self.offers.remove(code);
    self.audit(Action::Paired);
    Ok(token)
}`;

const FOUND = [
  {
    kind: 'definition',
    path: 'src/pair.rs',
    start: 88,
    end: 100,
    excerpt: PAIR,
    symbol: 'pair_device',
    score: 1,
    why: 'defines `pair_device`; matches `pair`, `code`, `expired`; edited by the session “Finish QR pairing”',
  },
  {
    kind: 'usage',
    path: 'crates/bridge/src/access/devices/pairing/a_folder_with_a_very_long_name/that_goes_on_and_on/pairing_http.rs',
    start: 211,
    end: 250,
    excerpt: lines(211, 250, (n) =>
      n === 214
        ? '    let token = devices.pair_device(&code, device, Instant::now())?;'
        : `    let step_${n} = request.header("x-step-${n}");`,
    ),
    symbol: 'claim',
    score: 0.82,
    why: 'calls `pair_device`',
  },
  {
    kind: 'session',
    provider: 'claude-code',
    session_id: '6f1b1f2e-2222-4000-8000-000000000003',
    start: 14,
    end: 31,
    excerpt:
      'Write the first draft of QR pairing. The code should expire after five minutes, and work once.\n\nThe draft is there: src/pair.rs holds the codes.',
    symbol: 'QR pairing: first draft',
    score: 0.7,
    why: 'its prompt matches `pairing`, `code`, `expire`',
  },
  {
    kind: 'text',
    path: 'docs/pairing.md',
    start: 3,
    end: 9,
    excerpt: lines(3, 9, (n) => `Step ${n}: type the pairing code.`),
    score: 0.4,
    why: 'matches `pairing`, `code`',
  },
  {
    kind: 'definition',
    path: 'tests/pairing.rs',
    start: 1,
    end: 2,
    excerpt: '#[test]\nfn a_code_expires() {',
    symbol: 'a_code_expires',
    score: 0.2,
    why: 'matches `code`; a test',
  },
];

const plainText = (findings) => `**Found:**\n${findings.map(({ path, why }) => `- \`${path}\`: ${why}`).join('\n')}`;

async function stage(options) {
  const tab = await Tab.open(browser, options);
  const played = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(tab.page);
  return { tab, page: tab.page, played, cards: tab.page.locator('[data-finding]') };
}

/** Asks a question that is answered with findings. */
function find(played, findings, more = {}) {
  played.update(asked('How long is a pairing code valid?'));
  played.update(said(more.text ?? plainText(findings), { findings: { findings, ...more } }));
  played.update(said('', { ended: true }));
}

test('findings are cards: location, symbol, marked excerpt, and the reason on demand', async () => {
  const { tab, page, played, cards } = await stage();
  find(played, FOUND, { truncated: true });
  await page.getByText('Found in 4 files and 1 session').waitFor();
  assert.equal(await cards.count(), 5);
  assert.equal(
    await page
      .getByText('**Found:**')
      .or(page.locator('strong', { hasText: 'Found:' }))
      .count(),
    0,
    'the plain version is not shown as well',
  );
  const first = cards.nth(0);
  assert.match(await first.textContent(), /src\/pair\.rs:88-100 *pair_device/);
  assert.deepEqual([...new Set(await first.locator('mark').allInnerTexts())].sort(), [
    'CODE',
    'Code',
    'Expired',
    'Pair',
    'code',
    'pair_device',
  ]);
  assert.equal(await first.getByText('edited by the session').count(), 0);
  await first.locator('[data-card]').focus();
  await first.getByRole('button', { name: 'Why' }).press('Enter');
  await first.getByText('edited by the session').waitFor();

  const second = cards.nth(1);
  assert.match(await second.innerText(), /in\sclaim/);
  assert.equal(await second.locator('mark').count(), 1, 'the lines that are shown hold the match');
  await second.getByRole('button', { name: 'Show all 40 lines' }).press('Enter');
  await second.getByText('x-step-211').waitFor();
  assert.match(await cards.nth(2).innerText(), /QR pairing: first draft\s+Claude Code/);
  await page.getByText('The search stopped at its limit: some files or past sessions were not read.').waitFor();
  await cards.nth(0).scrollIntoViewIfNeeded();
  await tab.shootAll('findings');
  await cards.nth(4).scrollIntoViewIfNeeded();
  await tab.shootAll('findings-end');
  await tab.close();
});

test('the answer about a project is above the cards that show it', async () => {
  const { tab, page, played, cards } = await stage();
  const lead = '- `cargo test --workspace` (`CONTRIBUTING.md:278`, Tests)\n- `cargo test` (usual with `Cargo.toml`)';
  find(played, FOUND.slice(0, 1), { text: `${lead}\n\n${plainText(FOUND.slice(0, 1))}`, lead });
  const command = page.locator('[data-row] code', { hasText: 'cargo test --workspace' });
  await command.waitFor();
  const [above, below] = [await command.boundingBox(), await cards.first().boundingBox()];
  assert.ok(above.y < below.y, 'the answer comes first');
  assert.equal(await page.getByText('(usual with').count(), 1, 'once');

  find(played, [], { text: '1,200 lines of code in 9 files', lead: '1,200 lines of code in 9 files' });
  await page.getByText('1,200 lines of code in 9 files').waitFor();
  assert.equal(await page.getByText('Nothing found').count(), 0);
  await tab.shootAll('findings-lead');
  await tab.close();
});

test('code is coloured, versions of the same code are one card, and weaker places are folded', async () => {
  const { tab, played } = await stage();
  const { page } = tab;
  const get = (path, score) => ({
    kind: 'definition',
    path,
    start: 10,
    end: 12,
    excerpt: '# Reads the key.\ndef get(self, key):\n    return self.call("GET", key)',
    symbol: 'get',
    score,
    why: 'defines `get`',
  });
  const paths = ['redis/client.py', 'redis/asyncio/client.py', 'redis/cluster.py', 'redis/cache.py', 'redis/lock.py'];
  const scores = [1, 0.95, 0.9, 0.2, 0.1];
  const findings = paths.map((path, at) => get(path, scores[at]));
  find(played, findings);

  const first = page.locator('[data-finding="0"]');
  await first.locator('.hl-keyword', { hasText: 'def' }).waitFor();
  assert.equal((await first.locator('.hl-comment').allTextContents()).join(''), '# Reads the key.');
  assert.ok((await first.locator('mark').allTextContents()).includes('get'));
  assert.equal(await page.locator('[data-finding="1"]').count(), 0);
  await first.getByText('Also in redis/asyncio/client.py').waitFor();
  assert.equal(await page.locator('[data-finding]').count(), 2);

  await first.getByRole('button', { name: /^redis\/asyncio/ }).click();
  await page.getByRole('complementary', { name: 'Inspector' }).getByText('redis/asyncio/client.py').first().waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: '2 more, weaker' }).click();
  assert.equal(await page.locator('[data-finding]').count(), 4);
  await tab.shootAll('findings-coloured');
  await tab.close();
});

test('a follow-up carries the symbol and the folder of the answer, and either can be left out', async () => {
  const { tab, played } = await stage();
  const { page } = tab;
  find(played, FOUND);
  await page.locator('[data-finding]').first().waitFor();
  const field = page.getByLabel('Prompt', { exact: true });
  const carried = page.getByRole('list', { name: 'The question is about' });
  await field.fill('How do I build it?');
  assert.equal(await carried.count(), 0);
  await field.fill('And where is that tested?');
  assert.deepEqual(await carried.locator('code').allTextContents(), ['pair_device', 'src/']);
  await tab.shootAll('follow-up');
  await carried.getByRole('button', { name: 'Leave out src/' }).click();
  assert.deepEqual(await carried.locator('code').allTextContents(), ['pair_device']);
  await field.press('Enter');
  await page.getByText('And where is that tested? (`pair_device`)').first().waitFor();
  await tab.close();
});

test('the keyboard walks the cards and opens the inspector, the reason and the editor', async () => {
  const { tab, page, played, cards } = await stage();
  await page.evaluate(() => {
    globalThis.opened = [];
    HTMLAnchorElement.prototype.click = function () {
      globalThis.opened.push(this.href);
    };
  });
  find(played, FOUND);
  await cards.nth(4).waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-card'));
  await page.locator('[data-card="0"]').focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), '1');
  await page.keyboard.press('End');
  assert.equal(await focused(), '4');
  await page.keyboard.press('Home');
  assert.equal(await focused(), '0');
  await page.keyboard.press('w');
  await cards.nth(0).getByText('edited by the session').waitFor();
  await tab.shoot('findings-keyboard');

  await page.keyboard.press('Enter');
  await tab.inspector.getByRole('heading', { name: 'src/pair.rs:88-100' }).waitFor();
  await tab.inspector.locator('blockquote').getByText('Ok(token)').waitFor();
  await tab.inspector.getByText('"score"').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await tab.inspector.getByRole('heading', { name: 'claude-code 6f1b1f2:14-31' }).waitFor();
  await tab.shoot('findings-inspector');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await tab.inspector.waitFor({ state: 'detached' });
  assert.equal(await focused(), '2', 'the focus comes back to the card');

  // No editor is chosen yet: the settings open.
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Control+Enter');
  const field = page.getByLabel('Open files in');
  await field.waitFor();
  assert.equal(await field.getByRole('option', { name: 'Custom command' }).count(), 0, 'a browser runs no command');
  await field.selectOption('Zed');
  await tab.shootAll('settings-editor');
  await page.keyboard.press('Escape');
  await page.locator('[data-card="1"]').focus();
  await page.keyboard.press('Control+Enter');
  const [link] = await page.evaluate(() => globalThis.opened);
  assert.match(link, /^zed:\/\/file\/.*\/harbour\/crates\/bridge\/.*\/pairing_http\.rs:211$/);

  // Beyond the ends of the list the timeline takes over.
  await page.locator('[data-card="0"]').focus();
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), null);
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), '0');
  await tab.close();
});

test('a finding is delegated with the question and its location', async () => {
  const { tab, page, played, cards } = await stage();
  find(played, FOUND);
  await page.locator('[data-card="0"]').focus();
  await cards.nth(0).getByRole('button', { name: 'Ask an agent about this' }).press('Enter');
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByLabel('Task').inputValue(), 'How long is a pairing code valid?');
  assert.equal(await dialog.getByLabel('Evidence').inputValue(), 'src/pair.rs:88-100 pair_device');
  await tab.shootAll('findings-ask');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Ask an agent', exact: true }).press('Enter');
  const all = (await dialog.getByLabel('Evidence').inputValue()).split('\n');
  assert.equal(all.length, 5);
  assert.equal(all[2], 'claude-code 6f1b1f2:14-31 QR pairing: first draft');
  await tab.close();
});

test('without findings the page says what to try', async () => {
  const { tab, page, played } = await stage();
  find(played, [], {
    text: '**Found:** nothing for `blockchain`; try a name that occurs in the code',
    hint: 'a name that occurs in the code, such as `pair_device`, or the name of a folder',
  });
  await page.getByText('Nothing found for blockchain').waitFor();
  await page.getByText('or the name of a folder.').waitFor();
  await tab.shootAll('findings-none');
  await tab.close();
});

test('hostile text changes neither the page nor the reading order', async () => {
  const { tab, page, played, cards } = await stage();
  const rest = { start: 1, end: 1, score: 1 };
  find(played, [
    {
      ...rest,
      kind: 'usage',
      path: 'src/<img src=x onerror=alert(1)>.html',
      end: 3,
      excerpt:
        '<script>globalThis.ran = true</script>\n<img src=x onerror="globalThis.ran = true">\n</code></div><style>body { display: none }</style>',
      symbol: '<b>bold</b>',
      why: 'matches `<script>`, `</code>`',
    },
    {
      ...rest,
      kind: 'definition',
      path: 'src/\u202esr.riap/\u200bsecret.rs',
      end: 2,
      excerpt: 'if access != "user\u202e \u2066// admin only\u2069 \u2066" {\nlet 名前 = "שלום עולם"; // ok',
      symbol: '\u202eevil',
      why: '`access`',
    },
    {
      ...rest,
      kind: 'text',
      path: 'שלום/עולם/קובץ.md',
      excerpt: 'פענוח הקוד מתבצע כאן: pair_device',
      why: '`pair_device`',
    },
    {
      ...rest,
      kind: 'usage',
      path: `${'deep/'.repeat(60)}end.rs`,
      excerpt: `needle${'x'.repeat(4080)}`,
      symbol: 'S'.repeat(400),
      why: '`needle`',
    },
    {
      ...rest,
      kind: 'session',
      provider: 'codex',
      session_id: 'x'.repeat(200),
      excerpt: 'y'.repeat(4096),
      symbol: 'T'.repeat(400),
      why: `\`${'y'.repeat(300)}\``,
    },
  ]);
  await cards.nth(4).waitFor();
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
  assert.equal(await cards.locator('img, script, style').count(), 0);
  assert.equal(await cards.nth(0).locator('mark').count(), 2);
  assert.match(await cards.nth(1).textContent(), /src\/\\u\{202e\}sr\.riap\/\\u\{200b\}secret\.rs:1-2/);
  await tab.shootAll('findings-hostile');
  for (const at of [1, 2]) {
    const order = await cards
      .nth(at)
      .locator('.path bdi')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().left));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      'the parts of a path stand in their order',
    );
  }
  await cards.nth(3).locator('[data-card]').press('Enter');
  await tab.inspector.waitFor();
  await tab.shootAll('findings-hostile-inspector');
  await tab.close();
});

test('on another machine there is no editor, and without the prompt scope no agent to ask', async () => {
  const tab = await Tab.open(browser, { size: 'phone' });
  const played = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(tab.page);
  find(played, FOUND);
  const first = tab.page.locator('[data-finding]').first();
  await first.getByRole('button', { name: 'Open in editor' }).waitFor();
  const small = await first
    .getByRole('button')
    .evaluateAll((buttons) =>
      buttons.map((button) => button.getBoundingClientRect().height).filter((height) => height < 44),
    );
  assert.deepEqual(small, [], 'every button can be hit');
  await tab.shoot('findings-touch');
  played.notify('_openagents/access', { scope: 'view', device: { id: 'd', name: 'Phone' } });
  await first.getByRole('button', { name: 'Ask an agent about this' }).waitFor({ state: 'detached' });
  assert.equal(await first.getByRole('button', { name: /^Open in/ }).count(), 0);
  await tab.shoot('findings-viewer');
  await tab.close();
});
