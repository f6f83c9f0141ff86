//! The one place that assembles what opens a page: secret, relay and attach for a device, a WebKit that plays the
//! device, or a Chrome.

mod link;
mod reach;
mod replay;
mod webkit;

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::ExposeSecret;

use crate::assets;
use crate::attach::{AttachPresenter, DeviceOptions, DevicePages, LinkKind, Reach};
use crate::cdp::page::PageSource;
use crate::chrome::{ChromeOptions, ChromePages, EndpointOptions, EndpointPages};
use crate::event::TargetKind;
use crate::relay::{AppAddressError, Choice, DEFAULT_KEEP_ALIVE};
use crate::replay::ReplayError;
use crate::secret::{Secret, SecretError, find_secret};
use crate::settings::{LinkWish, Settings};
use crate::tunnel::{AddressError, LanError};
use crate::webkit::WebkitOptions;
use link::{Link, link};
pub use reach::reach;
use replay::ReplayPages;
use webkit::WebkitPages;

/// Why no page can be opened, before anything was started.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The secret of the one-time codes cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The relay's public address cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The app's address cannot be used.
    #[error(transparent)]
    App(#[from] AppAddressError),
    /// This machine has no such address in the local network.
    #[error(transparent)]
    Lan(#[from] LanError),
    /// The recording cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// There is no cloudflared.
    #[error(
        "cloudflared is not there{}. Install it, name it with CLOUDFLARED_BIN, or take --tunnel lan for a phone in the \
         same network", named.as_ref().map(|path| format!(": CLOUDFLARED_BIN is {}", path.display())).unwrap_or_default()
    )]
    NoCloudflared {
        /// What was named.
        named: Option<PathBuf>,
    },
    /// Whether a tunnel leads to the relay cannot be found out.
    #[error(
        "the certificates this machine trusts cannot be read, so no tunnel can be checked. Install them (the package \
         is often called ca-certificates), or take --tunnel lan"
    )]
    NoTrust,
}

impl SessionError {
    /// It is this machine that lacks something, and not the command line that is wrong.
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::NoCloudflared { .. } | Self::NoTrust => true,
            Self::Lan(error) => !matches!(error, LanError::Unknown { .. }),
            Self::Replay(error) => matches!(error, ReplayError::Listen(_) | ReplayError::NoRandomness),
            Self::Secret(_) | Self::Address(_) | Self::App(_) => false,
        }
    }
}

/// What opens the pages of a run.
pub struct Pages {
    /// Where they come from.
    pub source: Box<dyn PageSource>,
    /// What a person should know before it starts.
    pub warnings: Vec<String>,
}

/// Assembles what the settings ask for. Starts nothing yet.
///
/// # Errors
/// See [`SessionError`].
pub fn pages(settings: &Settings, presenter: Box<dyn AttachPresenter>) -> Result<Pages, SessionError> {
    let target = &settings.target;
    let page_url = target.page_url.as_ref().map(|url| url.value.clone());
    let mut first_script = settings.capture.as_ref().map(assets::recorder_of_pages);
    let replay = settings.replay.as_ref().map(replay::prepare).transpose()?;
    if let Some(replay) = &replay {
        // The recorder sees what the page sees, wherever it comes from.
        first_script = Some(format!("{}\n{}", replay.script, first_script.unwrap_or_default()));
    }
    let source: Box<dyn PageSource> = match target.kind {
        TargetKind::Device => return device(settings, presenter),
        TargetKind::Webkit => return webkit(settings),
        TargetKind::Chrome => Box::new(ChromePages::new(ChromeOptions {
            browser: target.browser.as_ref().map(|browser| browser.value.clone()),
            search_path: target.search_path.clone(),
            no_sandbox: target.no_sandbox,
            page_url,
            first_script,
            bypass_csp: replay.is_some(),
            navigate_within: target.navigation_timeout,
        })),
        TargetKind::Endpoint => Box::new(EndpointPages::new(EndpointOptions {
            endpoint: target.cdp_endpoint.as_ref().map(|url| url.value.clone()).unwrap_or_default(),
            page_url,
            first_script,
            navigate_within: target.navigation_timeout,
        })),
    };
    let unused = match &settings.attach.link {
        LinkWish::Hosted { app } => app.as_ref().map(|app| app.source.to_string()),
        other => Some(flag_of(other).to_owned()),
    };
    let words = |what| format!("{what} is not used with a Chrome, which opens the app by --page-url without our help");
    let mut warnings: Vec<String> = unused.map(words).into_iter().collect();
    let Some(replay) = replay else { return Ok(Pages { source, warnings }) };
    warnings.extend(replay.warnings.iter().cloned());
    Ok(Pages { source: Box::new(ReplayPages::new(source, replay)), warnings })
}

fn device(settings: &Settings, presenter: Box<dyn AttachPresenter>) -> Result<Pages, SessionError> {
    let attach = &settings.attach;
    let given = attach.secret.as_ref().map(|secret| secret.expose_secret());
    let found = find_secret(given, &settings.project_root.value)?;
    let Link { kind, app, about: about_link } = link(settings)?;
    let (reach, about_reach) = reach(settings)?;
    let options = DeviceOptions {
        secret: found.secret,
        agent: agent(settings),
        link: kind,
        app,
        reach,
        choice: choice(settings),
        keep_alive: attach.keep_alive.unwrap_or(DEFAULT_KEEP_ALIVE),
        attach_timeout: attach.timeout.as_ref().map(|timeout| timeout.value),
    };
    let source = DevicePages::new(options, presenter);
    let warnings = [found.warning, about_link, about_reach, unused_page_url(settings, "device")];
    Ok(Pages { source: Box::new(source), warnings: warnings.into_iter().flatten().collect() })
}

/// Its secret is that of this run alone: nobody else is invited.
fn webkit(settings: &Settings) -> Result<Pages, SessionError> {
    let target = &settings.target;
    let options = WebkitOptions {
        driver: target.webdriver.as_ref().map(|driver| driver.value.clone()),
        browser: target.browser.as_ref().map(|browser| browser.value.clone()),
        search_path: target.search_path.clone(),
        has_display: target.has_display,
    };
    let secret = Secret::random()?;
    let attach_timeout = settings.attach.timeout.as_ref().map_or(webkit::ATTACH_LIMIT, |timeout| timeout.value);
    let choice = choice(settings);
    let Link { kind, app, .. } = link(settings)?;
    let unused_link = (kind != LinkKind::Hosted).then(|| {
        format!("{} is not used with --target webkit, which opens the relay's own link", flag_of(&settings.attach.link))
    });
    let device = DeviceOptions {
        secret,
        agent: agent(settings),
        link: LinkKind::Hosted,
        app,
        reach: Reach::LOOPBACK,
        choice,
        keep_alive: settings.attach.keep_alive.unwrap_or(DEFAULT_KEEP_ALIVE),
        attach_timeout: Some(attach_timeout),
    };
    let source = WebkitPages::new(options, device);
    let warnings = [unused_link, unused_page_url(settings, "webkit")];
    Ok(Pages { source: Box::new(source), warnings: warnings.into_iter().flatten().collect() })
}

/// What the relay hands out as its script.
fn agent(settings: &Settings) -> Arc<str> {
    assets::agent(settings.capture.as_ref()).into()
}

/// What asked for a link that is not the relay's own.
fn flag_of(link: &LinkWish) -> &'static str {
    match link {
        LinkWish::Hosted { .. } => "--app-url",
        LinkWish::Scheme(_) => "--scheme-url",
        LinkWish::Launcher { .. } => "--attach-launcher",
    }
}

/// Which page is wanted.
fn choice(settings: &Settings) -> Choice {
    Choice { device: settings.attach.device.clone(), take_over: settings.attach.take_over }
}

/// A page that dials into the relay is the one its link leads to.
fn unused_page_url(settings: &Settings, target: &str) -> Option<String> {
    let url = settings.target.page_url.as_ref()?;
    Some(format!("{} is not used with --target {target}, which tests in the page that attaches", url.source))
}
