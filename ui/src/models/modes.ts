/** Ids of the modes that a session can be in: who answers its prompts. */
export const EXPLORER_MODE = 'default_mode';
export const LOCAL_MODE = 'gptoss_20b';

export type Mode = typeof EXPLORER_MODE | typeof LOCAL_MODE;
