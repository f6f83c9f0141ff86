//! How a phone reaches the relay: an address in the local network, one that leads to us already, or a quick tunnel of
//! cloudflared that is started, watched, and replaced when it dies.
//!
//! ```text
//! Tunnel ── task ──> supervisor ──> machine (pure)
//!                        │  ├─ quick: the program and its output
//!                        │  ├─ resolve: is the name known
//!                        │  └─ probe: does our relay answer there
//!                        └──> TunnelState (watch)
//! ```
//!
//! An address counts only when our own relay answered through it. No host is logged or told: a state that is told to
//! people holds words, and the address is for links alone.

mod address;
mod lan;
mod limits;
mod machine;
mod probe;
mod quick;
mod resolve;
mod supervisor;
mod words;

pub use address::{AddressError, PublicAddress};
pub use lan::{LanAddress, LanChoice, LanError, lan};
pub use limits::TunnelLimits;
pub use machine::TunnelState;
pub use probe::{Proof, system_trust};
pub use resolve::{Resolve, Resolved, Resolver};
pub use supervisor::{Tunnel, TunnelKind, TunnelOptions};
