import * as z from 'zod/v4';

// The SDK's schema library compiles its parsers with `new Function` where it can, and probes for that on load.
// The page's content policy forbids it, so import this module before anything that imports the SDK.
z.config({ jitless: true });
