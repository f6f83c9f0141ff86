//! Where pages are to come from, as every tool that may start a session takes it.

use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::Deserialize;

use crate::mcp::debug::Debug;
use crate::mcp::envelope::Fault;
use crate::mcp::hub::Hub;
use crate::mcp::mode::Mode;
use crate::settings::{Given, LinkWish, Settings};

/// Where pages are to come from.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Wanted {
    /// Where pages come from (default: as the session has it, else as the server was started).
    pub(super) mode: Option<Mode>,
    /// The link that opens the app on the phone; means mode relay-scheme.
    pub(super) scheme_url: Option<String>,
    /// The app's own server, such as http://localhost:5173, to be opened on the phone; means mode relay-hosted unless
    /// mode is relay-launcher.
    pub(super) app_url: Option<String>,
    /// The launcher that opens app_url (default: the one that apps in the field know); means mode relay-launcher.
    pub(super) launcher_url: Option<String>,
    /// Folder of the project (default: that of the nearest package.json).
    #[serde(alias = "projectRoot")]
    pub(super) project_root: Option<String>,
}

/// The scheme link, the app's own address and the launcher's, that a session opens.
fn links_of(debug: &Debug) -> (Option<&str>, Option<&str>, Option<&str>) {
    match &debug.settings.attach.link {
        LinkWish::Scheme(url) => (Some(url.expose_secret()), None, None),
        LinkWish::Hosted { app } => (None, app.as_ref().map(|url| url.value.as_str()), None),
        LinkWish::Launcher { app, launcher } => {
            (None, Some(app.value.as_str()), launcher.as_ref().map(|url| url.value.as_str()))
        }
    }
}

impl Wanted {
    /// The mode, if it is said or follows from what is said.
    pub(super) fn mode(&self) -> Option<Mode> {
        let by_link = self.scheme_url.is_some().then_some(Mode::RelayScheme);
        let by_launcher = self.launcher_url.is_some().then_some(Mode::RelayLauncher);
        self.mode.or(by_link).or(by_launcher).or(self.app_url.is_some().then_some(Mode::RelayHosted))
    }

    /// Whether a session leads to the page that is asked for.
    pub(super) fn fits(&self, debug: &Debug) -> bool {
        let (scheme, app, launcher) = links_of(debug);
        (self.launcher_url.is_none() || self.launcher_url.as_deref() == launcher)
            && (self.scheme_url.is_none() || self.scheme_url.as_deref() == scheme)
            && (self.app_url.is_none() || self.app_url.as_deref() == app)
            && self.mode().is_none_or(|mode| mode == debug.mode)
    }

    /// The same, said with all that the session it fits was asked for.
    pub(super) fn in_session(&self, debug: &Debug) -> Self {
        let (scheme, app, launcher) = links_of(debug);
        // A browser of this machine opens no link.
        let links = debug.mode.needs_person();
        Self {
            mode: Some(debug.mode),
            scheme_url: scheme.filter(|_| links).map(str::to_owned),
            app_url: app.filter(|_| links).map(str::to_owned),
            launcher_url: launcher.filter(|_| links).map(str::to_owned),
            project_root: self.project_root.clone(),
        }
    }

    /// The settings this comes to. `otherwise` is the mode where none is said; `more` is what else is asked for.
    pub(super) fn settings(
        &self,
        hub: &Hub,
        otherwise: Option<Mode>,
        more: impl FnOnce(&mut Given),
    ) -> Result<Settings, Fault> {
        let mode = self.mode().or(otherwise);
        hub.settings(|given| {
            let over = |asked: &Option<String>, given: &mut Option<String>| {
                if asked.is_some() {
                    given.clone_from(asked);
                }
            };
            over(&self.project_root, &mut given.project_root);
            over(&self.scheme_url, &mut given.scheme_url);
            over(&self.app_url, &mut given.app_url);
            over(&self.launcher_url, &mut given.launcher_url);
            more(given);
            if let Some(mode) = mode {
                mode.ask(given);
            }
        })
        .and_then(|settings| match (mode, &settings.attach.link) {
            (Some(Mode::RelayScheme), LinkWish::Scheme(_)) | (Some(Mode::RelayHosted | Mode::RelayLauncher), _) => {
                Ok(settings)
            }
            (Some(Mode::RelayScheme), _) => {
                Err(Fault::bad_input("relay-scheme needs scheme_url, the link that opens the app.")
                    .next("start_attach", "give scheme_url, or take relay-hosted, which needs no link"))
            }
            (Some(Mode::LocalBrowser) | None, _) => Ok(settings),
        })
    }
}
