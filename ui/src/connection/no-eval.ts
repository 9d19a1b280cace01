import * as z from 'zod/v4';

// The SDK's schema library compiles its parsers with `new Function` where it can, and tries it out while it is loaded.
// The page's content policy forbids that, so this module has to be imported before anything that imports the SDK.
z.config({ jitless: true });
