//! Attach of a page on a phone: links, codes, QR, and the wait for the page.
//!
//! ```text
//! DevicePages: reception (relay, way to it) ──> Invitation (link + QR) ──> AttachPresenter
//!                                    wait (pure) <── RelayStatus
//!              page answers ──> cdp::page::Page, and follow (how it is from then on)
//! ```

mod device;
mod error;
mod follow;
mod link;
mod present;
mod qr;
mod reception;
mod wait;

pub use device::{DeviceOptions, DevicePages};
pub use error::AttachError;
pub use link::{LAUNCHER, LinkKind, doubt, link};
pub use present::{AttachPresenter, Invitation, Progress, Visitor, Waiting};
pub use qr::{Qr, QrStyle};
pub use reception::Reach;
