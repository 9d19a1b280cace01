//! The bridge of this data folder: the running one, or a temporary one that ends after its last client.

mod connection;
mod proof;
mod temporary;

pub(crate) use connection::{Connection, Refused, wire_path};
pub(crate) use temporary::{FirstLine, reach, reach_socket};
