//! On which hosts code may be evaluated. Looked at in the page itself, in the same script as the code: whatever was read
//! before may be stale by the time it arrives.

use std::time::Duration;

use super::envelope::{Fault, FaultCode};
use crate::cdp::page::Page;
use crate::cdp::runtime::{EvaluateError, EvaluateOptions, evaluate};

/// Hosts that are this machine, a tunnel to it, or a build that is not released. A leading `*.` stands for one or more
/// labels before it, and never for none.
const ALLOWED: [&str; 6] = ["localhost", "0.0.0.0", "[::1]", "*.localhost", "*.trycloudflare.com", "*.tossmini.com"];
/// What the script throws on another host.
const REFUSAL: &str = "devtools-test: host not allowed";
/// A look takes no longer than an echo.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// Where code may be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// `None` where the page is one of a browser of ours.
    hosts: Option<Vec<String>>,
}

impl Guard {
    /// Pages of a browser of ours: whatever the person has it open.
    pub(super) fn open() -> Self {
        Self { hosts: None }
    }

    /// Pages that attach: the usual hosts and these.
    pub(super) fn hosts(more: impl IntoIterator<Item = String>) -> Self {
        Self { hosts: Some(ALLOWED.map(String::from).into_iter().chain(more).collect()) }
    }

    /// What a script begins with, on its first line, so that nothing behind it happens on another host.
    pub(super) fn preamble(&self) -> String {
        let Some(hosts) = &self.hosts else { return String::new() };
        let hosts = serde_json::to_string(hosts).unwrap_or_default();
        // `127.d.d.d` is the whole of it, so that `127.evil.com` is not.
        format!(
            "{{const h=location.hostname.toLowerCase();if(!(/^127\\.\\d+\\.\\d+\\.\\d+$/.test(h)||{hosts}.some(a=>a[0]===\
             '*'?h.endsWith(a.slice(1))&&h.length>=a.length:h===a)))throw new Error('{REFUSAL}')}} "
        )
    }

    /// Whether the page may be used now.
    pub(super) async fn look(&self, page: &Page) -> Result<(), Fault> {
        let script = format!("{}1", self.preamble());
        match evaluate(&page.session, &script, EvaluateOptions::default(), LOOK_WITHIN).await {
            Err(error) if Self::is_refusal(&error) => Err(Self::fault()),
            // Whoever uses it finds out what is the matter with it.
            _ => Ok(()),
        }
    }

    /// Whether the script stopped because of the host.
    pub(super) fn is_refusal(error: &EvaluateError) -> bool {
        matches!(error, EvaluateError::Exception(details) if details.to_string().contains(REFUSAL))
    }

    /// What a tool answers then.
    pub(super) fn fault() -> Fault {
        let state = "The page is on a host on which nothing is evaluated.";
        Fault::new(FaultCode::HostNotAllowed, state)
            .because(
                "only local pages, tunnels and dog-food builds are allowed, so that nothing is done to a live service; \
                 allow-host in devtools-test.toml or --allow-host adds a host",
            )
            .next("navigate", "go back to the app, or attach another page with start_attach")
    }
}
