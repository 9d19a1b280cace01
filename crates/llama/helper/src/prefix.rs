//! Reuse of cached tokens from the previous turn.

/// Returns how many tokens of `prompt` can be reused from a cache that holds `cached`.
///
/// At least one token has to be computed, since the next one is sampled from its logits. `oldest` is the smallest
/// position in the cache, `None` if it is empty: layers with a sliding window may have dropped the beginning, and
/// truncating the cache before that point gives wrong answers without an error.
pub(crate) fn keep<T: PartialEq>(cached: &[T], prompt: &[T], oldest: Option<u32>) -> usize {
    if oldest != Some(0) {
        return 0;
    }
    let common = cached.iter().zip(prompt).take_while(|(cached, new)| cached == new).count();
    common.min(prompt.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::keep;

    #[test]
    fn the_common_prefix_is_kept_and_at_least_one_token_is_computed() {
        type Row = (&'static [i32], &'static [i32], Option<u32>, usize);
        let rows: [Row; 8] = [
            (&[], &[1, 2], None, 0),
            (&[1, 2, 3], &[1, 2, 4, 5], Some(0), 2),
            (&[1, 2, 3], &[1, 2, 3, 4], Some(0), 3),
            (&[1, 2, 3], &[1, 2, 3], Some(0), 2),
            (&[1, 2, 3], &[1, 2], Some(0), 1),
            (&[1, 2, 3], &[7], Some(0), 0),
            (&[1, 2, 3], &[], Some(0), 0),
            // The window has moved on.
            (&[1, 2, 3], &[1, 2, 3, 4], Some(1), 0),
        ];
        for (cached, prompt, oldest, expected) in rows {
            assert_eq!(keep(cached, prompt, oldest), expected, "{cached:?} {prompt:?} {oldest:?}");
        }
    }
}
