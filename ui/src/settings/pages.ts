export type Page = 'models' | 'agents' | 'history' | 'usage' | 'privacy' | 'devices' | 'editor';

/** The pages of the settings with their names. */
export const PAGES: readonly (readonly [Page, string])[] = [
  ['models', 'Models'],
  ['agents', 'Agents'],
  ['history', 'History'],
  ['usage', 'Usage'],
  ['privacy', 'Privacy'],
  ['devices', 'Devices'],
  ['editor', 'Editor'],
];
