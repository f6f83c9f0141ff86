//! How the pages of a session come about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::TargetKind;
use crate::settings::{Given, LinkWish, Settings};

/// How the pages of a session come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    /// A headless browser on this machine; nobody is needed.
    LocalBrowser,
    /// A person scans a code that opens a page of the relay on the phone, or the app (`app_url`) through it.
    RelayHosted,
    /// A person scans a code that has a launcher open the app (`app_url`).
    RelayLauncher,
    /// A person scans a code that opens the app by its scheme link (`scheme_url`).
    RelayScheme,
}

impl Mode {
    /// The mode that settings come to.
    pub(super) fn of(settings: &Settings) -> Self {
        match (settings.target.kind, &settings.attach.link) {
            (TargetKind::Device, LinkWish::Scheme(_)) => Self::RelayScheme,
            (TargetKind::Device, LinkWish::Launcher { .. }) => Self::RelayLauncher,
            (TargetKind::Device, LinkWish::Hosted { .. }) => Self::RelayHosted,
            (TargetKind::Chrome | TargetKind::Webkit | TargetKind::Endpoint, _) => Self::LocalBrowser,
        }
    }

    /// Puts the mode into what was asked for.
    pub(super) fn ask(self, given: &mut Given) {
        match self {
            // Which browser may have been said where the server was started.
            Self::LocalBrowser if given.cdp_endpoint.is_some() => {}
            Self::LocalBrowser if given.target.as_deref() == Some("webkit") => {}
            Self::LocalBrowser => given.target = Some("chrome".into()),
            Self::RelayHosted | Self::RelayLauncher | Self::RelayScheme => {
                given.target = Some("device".into());
                (given.cdp_endpoint, given.page_url) = (None, None);
                given.attach_launcher = self == Self::RelayLauncher;
                if !given.attach_launcher {
                    given.launcher_url = None;
                }
                if self == Self::RelayScheme {
                    given.app_url = None;
                } else {
                    given.scheme_url = None;
                }
            }
        }
    }

    /// Whether a person has to bring the page.
    pub(super) fn needs_person(self) -> bool {
        self != Self::LocalBrowser
    }
}
