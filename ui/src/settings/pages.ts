/** The pages of the settings. */
export type Page = 'models' | 'agents' | 'devices' | 'editor';
