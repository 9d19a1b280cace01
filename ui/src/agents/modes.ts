/** Ids of the modes that a session can be in: who answers its prompts. Agents' modes are their ids. */
export const EXPLORER_MODE = 'default_mode';
export const LOCAL_MODE = 'gptoss_20b';
