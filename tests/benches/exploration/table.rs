//! Figures, what they should be, and what they are.

/// The result of a bench.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    samples: Vec<f64>,
    unit: &'static str,
    most: Option<f64>,
}

impl Table {
    /// Starts a table.
    pub(crate) fn new(title: String) -> Self {
        Self { title, rows: Vec::new() }
    }

    /// Adds a figure; its median should be `most` at the most.
    pub(crate) fn add(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        samples: Vec<f64>,
        most: Option<f64>,
    ) {
        self.rows.push(Row { what: what.into(), samples, unit, most });
    }

    /// Prints everything.
    pub(crate) fn print(&self) {
        println!("\n{}\n", self.title);
        println!("{:<58} {:>9} {:>9} {:>9}  {:<4} {:>8}", "", "min", "median", "max", "", "target");
        for row in &self.rows {
            let mut samples = row.samples.clone();
            samples.sort_by(f64::total_cmp);
            let (Some(min), Some(max)) = (samples.first(), samples.last()) else { continue };
            let median = samples[samples.len() / 2];
            let target = match row.most {
                Some(most) if median <= most => format!("≤ {most}  met"),
                Some(most) => format!("≤ {most}  MISSED"),
                None => String::new(),
            };
            println!("{:<58} {min:>9.2} {median:>9.2} {max:>9.2}  {:<4} {target}", row.what, row.unit);
        }
    }
}
