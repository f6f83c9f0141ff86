//! From what was asked for to the link that leads a person to the page.

use std::path::Path;

use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use crate::attach::{LAUNCHER, LinkKind, doubt};
use crate::relay::{AppAddress, AppAddressError};
use crate::settings::{LinkWish, Settings};

/// The link, and what belongs to it.
pub(super) struct Link {
    /// Its kind.
    pub(super) kind: LinkKind,
    /// The app that is served behind the relay.
    pub(super) app: Option<AppAddress>,
    /// What a person should know about it.
    pub(super) about: Option<String>,
}

/// What the settings ask for.
pub(super) fn link(settings: &Settings) -> Result<Link, AppAddressError> {
    Ok(match &settings.attach.link {
        LinkWish::Hosted { app } => {
            let app = app.as_ref().map(|app| AppAddress::new(&app.value)).transpose()?;
            Link { kind: LinkKind::Hosted, app, about: None }
        }
        LinkWish::Scheme(url) => {
            let url = url.expose_secret().to_owned();
            Link { about: doubt(&url), kind: LinkKind::Scheme(url), app: None }
        }
        LinkWish::Launcher { app, launcher } => {
            let about = launcher.is_none().then(|| {
                "The launcher that apps in the field know is no longer looked after by anybody, and gets to see the code. \
                 --launcher-url names another."
                    .to_owned()
            });
            let launcher = launcher.as_ref().map_or(LAUNCHER, |launcher| &launcher.value).to_owned();
            let named = Url::parse(&launcher).is_ok_and(|url| url.query_pairs().any(|(key, _)| key == "name"));
            let name = if named { None } else { name_of_app(&settings.project_root.value) };
            Link { kind: LinkKind::Launcher { launcher, app: app.value.clone(), name }, app: None, about }
        }
    })
}

/// The name in the project's `package.json`, without its scope.
fn name_of_app(root: &Path) -> Option<String> {
    let text = fs_err::read(root.join("package.json")).ok()?;
    let package: Value = serde_json::from_slice(&text).ok()?;
    let name = package.get("name")?.as_str()?.trim();
    let name = name.rsplit('/').next().unwrap_or(name);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_app_is_called_as_its_package_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(name_of_app(folder.path()), None);
        for (text, name) in [
            (r#"{"name":"@org/my-app"}"#, Some("my-app")),
            (r#"{"name":" 앱 "}"#, Some("앱")),
            (r#"{"name":"@org/"}"#, None),
            (r#"{"name":7}"#, None),
            ("{", None),
        ] {
            fs_err::write(folder.path().join("package.json"), text).unwrap();
            assert_eq!(name_of_app(folder.path()).as_deref(), name, "{text}");
        }
    }
}
