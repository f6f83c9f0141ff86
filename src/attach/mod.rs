//! Attach of a page on a phone: links, codes, QR, and the wait for the page.
//!
//! ```text
//! DevicePages: start relay ──> Invitation (link + QR) ──> AttachPresenter
//!                                    wait (pure) <── RelayStatus
//!              page answers ──> cdp::page::Page
//! ```

mod device;
mod error;
mod link;
mod present;
mod qr;
mod wait;

pub use device::{DeviceOptions, DevicePages, Reach};
pub use error::AttachError;
pub use link::{LinkKind, link};
pub use present::{AttachPresenter, Invitation, Visitor, Waiting};
pub use qr::{Qr, QrStyle};
