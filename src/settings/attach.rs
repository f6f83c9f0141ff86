//! How a device attaches: which link leads a person to the page, and how the page reaches the relay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::SettingsError;
use super::lookup::Sources;
use super::resolve::address;
use super::resolved::{AttachSettings, LinkWish};
use super::source::{Source, Sourced};
use super::tunnel::tunnel;

/// Nobody scans a code in CI: whatever attaches there is started by a script.
const CI_ATTACH_TIMEOUT: Duration = Duration::from_secs(120);

/// Resolves what is said about it.
pub(super) fn attach(from: &Sources<'_>) -> Result<AttachSettings, SettingsError> {
    let timeout = from.duration("--attach-timeout", |given| &given.attach_timeout)?;
    let in_ci = || from.around.is_ci().then(|| Sourced::default_of(CI_ATTACH_TIMEOUT));
    Ok(AttachSettings {
        timeout: timeout.or_else(in_ci),
        link: link(from)?,
        tunnel: tunnel(from)?,
        keep_alive: from.duration("--keep-alive", |given| &given.keep_alive)?.map(|given| given.value),
        device: from
            .text("--device", |given| &given.device)
            .map(|text| text.value)
            .filter(|text| !text.trim().is_empty()),
        take_over: from.switch(|given| given.take_over).unwrap_or(false),
        show_url: from.flags.show_url,
        qr_stdout: from.flags.qr_stdout,
        qr_file: qr_file(from)?,
        secret: from.around.variable("AIT_DEBUG_TOTP_SECRET").map(Into::into),
    })
}

fn link(from: &Sources<'_>) -> Result<LinkWish, SettingsError> {
    // Scripts write --scheme-url "$AIT_SCHEME_URL": an empty text is a variable that is not set.
    let scheme = from.flags.scheme_url.clone().filter(|text| !text.is_empty());
    let of_the_web = |text: Sourced<String>| text.parse(|text| address(text, &["http", "https"]));
    let app = from.text("--app-url", |given| &given.app_url).map(of_the_web).transpose()?;
    let launcher = from.text("--launcher-url", |given| &given.launcher_url).map(of_the_web).transpose()?;
    if let Some(Sourced { source: Source::Flag(flag), .. }) = launcher
        && !from.flags.attach_launcher
    {
        return Err(SettingsError::Conflict(format!("{flag} names the launcher of --attach-launcher; give both")));
    }
    match (scheme, app, from.flags.attach_launcher) {
        (Some(_), _, true) => Err(SettingsError::Conflict(
            "--scheme-url opens the app in its host app and --attach-launcher in a launcher; give one of the two"
                .into(),
        )),
        (_, None, true) => Err(SettingsError::Conflict(
            "--attach-launcher opens the app at its own address; give that with --app-url".into(),
        )),
        (_, Some(app), true) => Ok(LinkWish::Launcher { app, launcher }),
        (Some(_), Some(app), false) => Err(SettingsError::Conflict(format!(
            "--scheme-url opens the app in its host app, but {} has us serve it to a browser; give one of the two",
            app.source
        ))),
        (Some(scheme), None, false) if url::Url::parse(&scheme).is_err() => Err(SettingsError::RefusedHidden {
            origin: Source::Flag("--scheme-url"),
            why: "it must be a link that opens the app, like intoss-private://...".into(),
        }),
        (Some(scheme), None, false) => Ok(LinkWish::Scheme(scheme.into())),
        (None, app, false) => Ok(LinkWish::Hosted { app }),
    }
}

/// Where the picture of the code goes.
fn qr_file(from: &Sources<'_>) -> Result<Option<PathBuf>, SettingsError> {
    let Some(text) = from.text("--qr-file", |given| &given.qr_file) else { return Ok(None) };
    let text = text.parse(|text| match Path::new(text).extension() {
        Some(extension) if extension.eq_ignore_ascii_case("png") => Ok(text.to_owned()),
        _ => Err("it is written as PNG; give a path that ends in .png".into()),
    })?;
    Ok(Some(from.path(text)?.value))
}
