/** Ids of the session modes, which name the agent that answers. An agent's mode is its id. */
export const EXPLORER_MODE = 'default_mode';
export const LOCAL_MODE = 'gptoss_20b';
