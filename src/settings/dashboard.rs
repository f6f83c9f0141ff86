//! Whether there is a dashboard, and where.

use std::ops::RangeInclusive;

use crate::event::TargetKind;

use super::error::SettingsError;
use super::lookup::Sources;
use super::source::Sourced;
use super::surroundings::Surroundings;
use super::tunnel::port_number;

/// Where the dashboard listens unless told otherwise: on the first of these that is free, more than a machine runs at once,
/// and on any other port where none is.
pub const DASHBOARD_PORTS: RangeInclusive<u16> = 8317..=8337;

/// The local page that shows the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DashboardSettings {
    /// Whether there is one: where a person is to attach a device, or a port was asked for.
    pub enabled: bool,
    /// `--dashboard-port`; 0 for any port that is free, `None` for the usual one or one after it.
    pub port: Option<Sourced<u16>>,
    /// Open it in a browser as soon as it is there.
    pub open: bool,
}

/// Resolves what is said about the dashboard of a run in this kind of page.
pub(super) fn dashboard(from: &Sources<'_>, kind: TargetKind) -> Result<DashboardSettings, SettingsError> {
    let port = from.text("--dashboard-port", |given| &given.dashboard_port);
    let port = port.map(|text| text.parse(port_number)).transpose()?;
    let headless = from.switch(|given| given.headless).unwrap_or(false);
    let person = kind == TargetKind::Device && !from.around.is_ci();
    Ok(DashboardSettings {
        enabled: port.is_some() || person,
        port,
        open: person && !headless && from.around.stdout_is_terminal && has_desktop(from.around),
    })
}

/// Whether a window that is opened here is seen by whoever typed the command.
fn has_desktop(around: &Surroundings<'_>) -> bool {
    let is_set = |name| around.variable(name).is_some();
    let display = cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    display && !is_set("SSH_CONNECTION")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::settings::{Given, resolve};

    fn resolved(change: impl FnOnce(&mut Given), variables: &[(&str, &str)], terminal: bool) -> DashboardSettings {
        let mut given = Given::default();
        change(&mut given);
        let variables: Vec<(String, String)> = variables.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let environment = move |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, v)| v.clone());
        let around = Surroundings { environment: &environment, cwd: "/".into(), stdout_is_terminal: terminal };
        resolve(given, None, &around).unwrap().dashboard
    }

    const DISPLAY: (&str, &str) = ("DISPLAY", ":0");

    #[test]
    fn there_is_one_where_a_person_attaches_a_device_or_a_port_was_asked_for() {
        let chrome = |given: &mut Given| given.target = Some("chrome".into());
        assert!(resolved(|_| {}, &[], false).enabled);
        assert!(!resolved(chrome, &[], false).enabled);
        assert!(!resolved(|_| {}, &[("CI", "1")], false).enabled);
        let asked = |given: &mut Given| {
            given.target = Some("chrome".into());
            given.dashboard_port = Some("0".into());
        };
        let asked = resolved(asked, &[("CI", "1")], false);
        assert_eq!((asked.enabled, asked.port.unwrap().value, asked.open), (true, 0, false));
    }

    #[test]
    fn it_opens_only_before_the_eyes_of_a_person() {
        assert!(resolved(|_| {}, &[DISPLAY], true).open);
        assert!(!resolved(|_| {}, &[DISPLAY], false).open, "nobody looks at a pipe");
        assert!(!resolved(|given| given.headless = Some(true), &[DISPLAY], true).open);
        assert!(!resolved(|_| {}, &[DISPLAY, ("CI", "true")], true).open);
        assert!(!resolved(|_| {}, &[DISPLAY, ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")], true).open);
        let has_window_system = cfg!(any(target_os = "macos", windows));
        assert_eq!(resolved(|_| {}, &[], true).open, has_window_system);
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        let given = Given { dashboard_port: Some("70000".into()), ..Given::default() };
        let around = Surroundings { environment: &|_| None, cwd: "/".into(), stdout_is_terminal: false };
        let message = resolve(given, None, &around).unwrap_err().to_string();
        assert!(message.contains("--dashboard-port") && message.contains("65535"), "{message}");
    }
}
