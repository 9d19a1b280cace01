import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

/** What each folder may use beside itself. `connection` holds the wire's types, `kit` is a leaf. */
const USES = {
  backend: [],
  editor: ['backend'],
  markdown: ['kit'],
  findings: ['connection', 'kit', 'markdown', 'words'],
  overview: ['connection', 'kit', 'words'],
  kit: [],
  words: ['connection'],
  theme: ['backend/storage'],
  commands: ['kit', 'page\\.svelte'],
  find: [
    'connection',
    'findings/finding-text',
    'kit',
    'session/(?:rows|delegation|result-words)',
    'terminal',
    'timeline/Timeline',
    'words',
  ],
  phone: [],
  install: ['kit'],
  offline: ['connection', 'kit', 'session'],
  connection: ['backend', 'kit'],
  plan: ['connection', 'kit'],
  models: ['connection', 'kit'],
  agents: ['connection', 'kit', 'models', 'words'],
  options: ['connection', 'kit'],
  approval: ['connection', 'diff', 'install', 'kit', 'trust', 'words'],
  trust: ['connection', 'kit', 'words'],
  privacy: ['connection'],
  usage: ['connection', 'words'],
  labels: ['backend/fragment', 'connection', 'kit', 'page', 'session/(?:entry|session-list)'],
  history: [
    'agents/(?:agent-words|agents\\.svelte)',
    'find',
    'connection',
    'kit',
    'labels',
    'live/live-words',
    'page',
    'session',
    'timeline',
    'usage/usage-words',
    'words',
    'workspace',
  ],
  share: ['agents', 'backend', 'connection', 'kit', 'page', 'session/entry', 'words'],
  live: ['connection', 'kit', 'words'],
  sidebar: ['backend/storage', 'connection', 'history', 'kit', 'labels', 'live', 'page', 'session', 'words'],
  devices: ['connection', 'install', 'kit', 'words'],
  pairing: ['backend', 'connection', 'devices/device-words', 'kit'],
  delegate: ['agents', 'connection', 'kit', 'words'],
  diff: ['kit'],
  terminal: ['kit'],
  timeline: [
    'agents/(?:agent-words|LocalBadge)',
    'approval',
    'connection',
    'diff',
    'findings',
    'kit',
    'markdown',
    'models/model-words',
    'overview',
    'session',
    'terminal',
    'trust/trust',
    'words',
  ],
  session: ['agents/agent-words', 'backend/storage', 'connection', 'kit', 'plan', 'words'],
  workspace: ['agents', 'backend/storage', 'connection', 'kit', 'session/attachments\\.svelte', 'words'],
  composer: ['connection', 'kit', 'session/(?:attachments\\.svelte|mentionable)', 'words'],
  settings: [
    'agents',
    'connection',
    'devices',
    'editor',
    'history/(?:history-settings|keep|keep-words)',
    'kit',
    'models',
    'privacy',
    'trust',
    'usage',
    'words',
    'workspace',
  ],
  inspector: ['agents/agent-words', 'connection', 'kit', 'page', 'session/rows', 'timeline', 'words'],
};

const walls = Object.entries(USES).map(([folder, uses]) => ({
  files: [`src/${folder}/**`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: `^\\.\\./(?!${uses.length > 0 ? `(?:${uses.join('|')})(?:/|\\.|$)` : '$'})`,
            message: `${folder}/ does not use this folder: see USES in eslint.config.js.`,
          },
        ],
      },
    ],
  },
}));

export default ts.config(
  { ignores: ['dist/', 'node_modules/'] },
  ...ts.configs.recommendedTypeChecked,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      globals: { ...globals.browser },
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js', 'icons.js', 'svelte.config.js'] },
        extraFileExtensions: ['.svelte'],
      },
    },
  },
  { files: ['**/*.svelte', '**/*.svelte.ts'], languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } } },
  {
    // The linter cannot infer what generic snippets are handed; svelte-check does, and is part of `npm run check`.
    files: ['**/*.svelte'],
    rules: Object.fromEntries(
      ['argument', 'assignment', 'call', 'member-access', 'return'].map((what) => [
        `@typescript-eslint/no-unsafe-${what}`,
        'off',
      ]),
    ),
  },
  {
    rules: {
      'no-console': 'error',
      eqeqeq: 'error',
      'svelte/no-at-html-tags': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-deprecated': 'error',
      // The page's collections are replaced, not changed; reactive ones would cost for nothing.
      'svelte/prefer-svelte-reactivity': 'off',
    },
  },
  ...walls,
  { files: ['*.js', 'bench/**'], ...ts.configs.disableTypeChecked },
);
