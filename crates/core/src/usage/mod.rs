//! Tokens of requests to models, and what they cost.

mod money;
mod prices;
mod tokens;

pub use money::Picodollars;
pub use prices::{ModelPrice, ModelPrices, PriceError, PriceTable, Rates, RequestToPrice};
pub use tokens::Tokens;
