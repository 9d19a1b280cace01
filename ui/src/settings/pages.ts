export type Page = 'models' | 'agents' | 'privacy' | 'devices' | 'editor';
