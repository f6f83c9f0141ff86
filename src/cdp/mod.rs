//! The Chrome DevTools Protocol client: envelope, sessions, and the few domains we use, over any text-frame transport.

pub mod page;

mod session;

pub use session::Session;
