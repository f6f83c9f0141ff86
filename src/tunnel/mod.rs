//! How a phone reaches the relay: an address in the local network, one that leads to us already, or a quick tunnel of
//! cloudflared that is started, watched, and replaced when it dies.

mod address;
mod lan;

pub use address::{AddressError, PublicAddress};
pub use lan::{LanAddress, LanChoice, LanError, lan};
