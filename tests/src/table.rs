//! The table that a bench prints: figures and their targets.

/// The result of a bench.
#[derive(Debug)]
pub struct Table {
    title: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    samples: Vec<f64>,
    unit: &'static str,
    goal: Option<Goal>,
}

/// The target of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// The median is at most this.
    Most(f64),
    /// 99 of 100 samples are at most this.
    P99(f64),
    Least(f64),
}

impl Table {
    pub fn new(title: String) -> Self {
        Self { title, rows: Vec::new() }
    }

    pub fn add(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        samples: Vec<f64>,
        goal: Option<Goal>,
    ) {
        self.rows.push(Row { what: what.into(), samples, unit, goal });
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its table")]
    pub fn print(&self) {
        println!("\n{}\n", self.title);
        println!("{:<58} {:>9} {:>9} {:>9}  {:<4} {:>8}", "", "min", "median", "max", "", "target");
        for row in &self.rows {
            let mut samples = row.samples.clone();
            samples.sort_by(f64::total_cmp);
            let (Some(min), Some(max)) = (samples.first(), samples.last()) else { continue };
            let median = samples[samples.len() / 2];
            let p99 = samples[(samples.len() * 99 / 100).min(samples.len() - 1)];
            let verdict = |met: bool| if met { "met" } else { "MISSED" };
            let target = match row.goal {
                Some(Goal::Most(most)) => format!("≤ {most}  {}", verdict(median <= most)),
                Some(Goal::P99(most)) => format!("p99 {p99:.2} ≤ {most}  {}", verdict(p99 <= most)),
                Some(Goal::Least(least)) => format!("≥ {least}  {}", verdict(median >= least)),
                None => String::new(),
            };
            println!("{:<58} {min:>9.2} {median:>9.2} {max:>9.2}  {:<4} {target}", row.what, row.unit);
        }
    }
}
