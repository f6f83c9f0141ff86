//! A conversation with one target.

/// A CDP session.
#[derive(Clone, Debug)]
pub struct Session {}
