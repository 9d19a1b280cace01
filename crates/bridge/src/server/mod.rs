//! Listeners and HTTP: admission, routing, authentication and authorization of requests.

pub(crate) mod accept;
pub(crate) mod auth;
pub(crate) mod endpoint;
pub(crate) mod listeners;
pub(crate) mod origin;
pub(crate) mod page;
pub(crate) mod router;
pub(crate) mod state;
pub(crate) mod token_routes;
