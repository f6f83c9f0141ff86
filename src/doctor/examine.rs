//! Looks at everything, all at once.

use std::path::PathBuf;

use secrecy::SecretString;

use super::diagnosis::Diagnosis;
use super::{observe, programs, self_test, verdicts};
use crate::secret::{Hidden, find_secret};

/// The port of the dashboard, and how many after it are tried.
const DASHBOARD_PORT: u16 = 8317;
const DASHBOARD_PORTS: u16 = 20;

/// What to look at.
#[derive(Debug)]
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
    /// An address that leads to the relay, `http:` only.
    pub public_address: Option<Hidden>,
    /// This program.
    pub program: PathBuf,
    /// A variable that asks for colours in pipes.
    pub forced_colors: Option<&'static str>,
}

/// Looks at each link of the chain. Every look has its own limit; all of them together take as long as the longest,
/// the start of a browser (30 s at worst).
pub async fn examine(options: &DoctorOptions) -> Diagnosis {
    let (relay, tunnel, chrome, webkit, written) = tokio::join!(
        relay(options),
        programs::cloudflared(options),
        programs::chrome(options),
        programs::webkit(options),
        observe::stdout(&options.program),
    );
    let (relay, clock) = relay;
    let free = observe::free_port(DASHBOARD_PORT..=DASHBOARD_PORT + DASHBOARD_PORTS);
    let temp = std::env::temp_dir();
    Diagnosis::new(vec![
        verdicts::secret(&observe::secret(options)),
        verdicts::clock(&clock),
        verdicts::relay(&relay),
        verdicts::ports(DASHBOARD_PORT, free),
        verdicts::tunnel(&tunnel),
        verdicts::chrome(&chrome),
        verdicts::webkit(&webkit),
        verdicts::stdout(&verdicts::StdoutSeen { written, forced: options.forced_colors }),
        verdicts::temp(&temp, &observe::temp(&temp)),
    ])
}

/// Tries a relay, with the secret of the project where it has a good one.
async fn relay(options: &DoctorOptions) -> (Result<verdicts::RelaySeen, String>, verdicts::ClockSeen) {
    use secrecy::ExposeSecret;
    let given = options.secret.as_ref().map(ExposeSecret::expose_secret);
    let secret = match find_secret(given, &options.project_root) {
        Ok(found) => found.secret,
        // What is wrong with it is told of the secret; the relay is tried all the same.
        Err(_) => match crate::secret::Secret::random() {
            Ok(secret) => secret,
            Err(error) => {
                let why = error.to_string();
                return (Err(why.clone()), verdicts::ClockSeen { relay: Err(why), outside: None });
            }
        },
    };
    let (seen, relay) = self_test::relay(secret).await;
    let outside = match &options.public_address {
        Some(address) => observe::outside_clock(address.expose()).await,
        None => None,
    };
    (seen, verdicts::ClockSeen { relay, outside })
}
