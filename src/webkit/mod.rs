//! A WebKit of our own, led to a page by WebDriver.
//!
//! WebDriver only opens links here: WebKit speaks no DevTools protocol, so the page dials into the relay as a phone's
//! page does, and everything else goes that way.
//!
//! ```text
//! find ──> display (Xvfb, where there is none) ──> driver ──> webdriver (new session, navigate) ──> browser::Webkit
//! ```

mod browser;
mod display;
mod driver;
mod error;
mod find;
mod webdriver;

pub use browser::{Webkit, WebkitOptions};
pub use error::WebkitError;
pub use find::{Programs, find, find_driver};
