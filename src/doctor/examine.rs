//! Looks at everything, all at once.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;

use super::diagnosis::Diagnosis;
use super::{clock, observe, programs, self_test, verdicts};
use crate::secret::find_secret;
use crate::settings::DASHBOARD_PORTS;
use crate::tunnel::TunnelOptions;
use crate::webkit::WebkitOptions;

/// What to look at.
pub struct DoctorOptions {
    /// The project.
    pub project_root: PathBuf,
    /// Value of the secret's variable.
    pub secret: Option<SecretString>,
    /// `--browser`, and what said so.
    pub browser: Option<PathBuf>,
    /// Start it without its sandbox.
    pub no_sandbox: bool,
    /// `PATH`.
    pub search_path: Option<String>,
    /// `CLOUDFLARED_BIN`.
    pub cloudflared: Option<PathBuf>,
    /// What leads to the relay from outside, to be tried.
    pub way: Way,
    /// Servers that are asked for the time, the first answer counts; none for nobody.
    pub clocks: Vec<String>,
    /// Which WebKit.
    pub webkit: WebkitOptions,
    /// This program.
    pub program: PathBuf,
    /// A variable that asks for colours in pipes.
    pub forced_colors: Option<&'static str>,
}

/// What leads to the relay from outside.
pub enum Way {
    /// Nothing does, or nothing was found that could.
    None,
    /// An address is said to lead to a port of ours, and which is not known.
    Portless,
    /// This, to a relay that listens there.
    Tunnel {
        /// How.
        tunnel: Box<TunnelOptions>,
        /// Where the relay has to listen for it.
        listen: SocketAddr,
        /// A person asked for it, so that a run without it fails.
        asked: bool,
    },
}

/// Servers whose clock is right and who answer anybody.
pub const WELL_KNOWN_CLOCKS: [&str; 3] =
    ["https://www.cloudflare.com", "https://www.google.com", "https://www.apple.com"];

/// Looks at each link of the chain. Every look has its own limit; all of them together take as long as the longest,
/// the start of a tunnel (45 s at worst).
pub async fn examine(options: &DoctorOptions) -> Diagnosis {
    let (tried, outside, tunnel, chrome, webkit, written) = tokio::join!(
        relay(options),
        clock::outside(&options.clocks),
        programs::cloudflared(options),
        programs::chrome(options),
        programs::webkit(options),
        observe::stdout(&options.program),
    );
    let self_test::Tried { relay, clock, reached } = tried;
    let temp = std::env::temp_dir();
    Diagnosis::new(vec![
        verdicts::secret(&observe::secret(options)),
        verdicts::clock(&verdicts::ClockSeen { relay: clock, outside }),
        verdicts::relay(&relay),
        verdicts::ports(*DASHBOARD_PORTS.start(), observe::free_port(DASHBOARD_PORTS)),
        verdicts::tunnel(&tunnel, &reached),
        verdicts::chrome(&chrome),
        verdicts::webkit(&webkit),
        verdicts::stdout(&verdicts::StdoutSeen { written, forced: options.forced_colors }),
        verdicts::temp(&temp, &observe::temp(&temp)),
    ])
}

/// Tries a relay and the way to it, with the secret of the project where it has a good one.
async fn relay(options: &DoctorOptions) -> self_test::Tried {
    use secrecy::ExposeSecret;
    let given = options.secret.as_ref().map(ExposeSecret::expose_secret);
    let secret = match find_secret(given, &options.project_root) {
        Ok(found) => found.secret,
        // What is wrong with it is told of the secret; the relay is tried all the same.
        Err(_) => match crate::secret::Secret::random() {
            Ok(secret) => secret,
            Err(error) => return self_test::Tried::failed(&error.to_string()),
        },
    };
    self_test::relay(secret, &options.way).await
}
