export type Page = 'models' | 'agents' | 'devices' | 'editor';
