//! The clocks of a tunnel.

use std::time::Duration;

/// The clocks of a tunnel; the defaults are for quick tunnels of cloudflared and for addresses of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelLimits {
    /// How long the program may take to tell its address.
    pub address: Duration,
    /// How long the name may take to be known.
    pub name: Duration,
    /// How long the relay may take to answer through the tunnel.
    pub proof: Duration,
    /// How often a tunnel that is up is asked for the relay.
    pub check: Duration,
    /// How soon something that did not work is asked again.
    pub again: Duration,
    /// Checks in a row that make a tunnel count as down.
    pub misses: u32,
    /// How long a tunnel may be out of reach before it is replaced.
    pub unreachable: Duration,
    /// How long a tunnel must have been up for its end to be the first of a new row.
    pub steady: Duration,
    /// Starts in a row before it is given up.
    pub starts: u32,
    /// How long starts in a row may go on.
    pub trying: Duration,
    /// How long it waits before the second start; twice as long before each further one.
    pub pause: Duration,
}

impl Default for TunnelLimits {
    fn default() -> Self {
        Self {
            // Usually under ten seconds; a slow network takes twice that, and a person does not wait longer.
            address: Duration::from_secs(30),
            // Records appear within seconds; a person who leads an address of theirs here needs time to do so.
            name: Duration::from_secs(60),
            // As the name: edges learn of a tunnel one by one.
            proof: Duration::from_secs(60),
            // Noticed well before the person who holds the phone gives up, at four small requests a minute.
            check: Duration::from_secs(15),
            // Short against the waits above, and no burden to the other side.
            again: Duration::from_secs(2),
            // One lost request is no lost tunnel.
            misses: 2,
            // A laptop that changes its network is back by then, and so is the program, under the same address.
            unreachable: Duration::from_secs(60),
            // Shorter than any run that a person starts, longer than a tunnel that dies of what it was born with.
            steady: Duration::from_secs(60),
            // With the pauses some ten seconds, after which a refusal is not a hiccup.
            starts: 4,
            // Two starts that tell no address at all.
            trying: Duration::from_secs(60),
            pause: Duration::from_secs(1),
        }
    }
}
