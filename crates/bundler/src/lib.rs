//! rolldown behind a small blocking API.
