//! The pairs, their ratios, and the targets.

use crate::Run;

pub(crate) fn print(long: &[(Run, Run)], short: &[(Run, Run)], own_first_ms: &[f64], memory: (u64, u64)) {
    println!("\nThe local model through the whole path, beside llama-server: one thread each, in turn\n");
    println!(
        "{:>4} {:>24} {:>7} {:>28} {:>7}",
        "pair", "decode tokens/s", "ratio", "prompt tokens/s", "ratio"
    );
    for (index, (ours, peer)) in long.iter().enumerate() {
        println!(
            "{:>4} {:>11.1} / {:>10.1} {:>7.3} {:>13.1} / {:>12.1} {:>7.3}",
            index + 1,
            ours.decode_speed(),
            peer.decode_speed(),
            ours.decode_speed() / peer.decode_speed(),
            ours.prompt_speed(),
            peer.prompt_speed(),
            ours.prompt_speed() / peer.prompt_speed(),
        );
    }
    let read: Vec<f64> = long.iter().map(|(ours, peer)| ours.read - peer.read).collect();
    println!("\nprompt of {} tokens (llama-server: {:+} tokens)", long[0].0.read, -median(&read));
    verdict("decode speed, ours / peer", ratios(long, Run::decode_speed), "≥", 0.95);
    verdict("prompt speed, ours / peer", ratios(long, Run::prompt_speed), "≥", 0.95);
    let beside_peer = short.iter().map(|(ours, peer)| (ours.first - peer.first) * 1000.0).collect();
    verdict("first token after a short prompt, ours - peer, ms", beside_peer, "≤", 15.0);
    // The warm-up pair has left a figure too, which is skipped.
    let own = &own_first_ms[own_first_ms.len() - short.len()..];
    let path = short.iter().zip(own).map(|((ours, _), own)| ours.first * 1000.0 - own).collect();
    verdict("first token, client - engine's own figure, ms", path, "≤", 15.0);
    verdict("memory, helper / llama-server", vec![memory.0 as f64 / memory.1 as f64], "≤", 1.10);
    println!("memory: helper {:.1} MB, llama-server {:.1} MB", memory.0 as f64 / 1e6, memory.1 as f64 / 1e6);
}

fn ratios(pairs: &[(Run, Run)], speed: impl Fn(&Run) -> f64) -> Vec<f64> {
    pairs.iter().map(|(ours, peer)| speed(ours) / speed(peer)).collect()
}

fn verdict(what: &str, samples: Vec<f64>, comparison: &str, bound: f64) {
    let found = median(&samples);
    let met = if comparison == "≥" { found >= bound } else { found <= bound };
    println!("{what:<52} median {found:>8.3}   {comparison} {bound}  {}", if met { "met" } else { "MISSED" });
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
