import { expect, test } from 'vitest';
import { spoken } from './spoken';

test.each([
  ['plain text', 'plain text'],
  ['## A **bold** word', 'A bold word'],
  ['run `cargo test` now', 'run cargo test now'],
  ['see [the page](https://example.org/a_b)', 'see the page'],
  ['```rust\nlet a = **b;\n```\nafter', 'let a = **b;\nafter'],
  ['a_b and __c__', 'a_b and c'],
])('%j', (markdown, expected) => expect(spoken(markdown)).toBe(expected));
