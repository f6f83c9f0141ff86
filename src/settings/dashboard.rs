//! Whether there is a dashboard, and where.

use crate::event::TargetKind;

use super::error::SettingsError;
use super::lookup::Sources;
use super::source::Sourced;
use super::surroundings::Surroundings;
use super::tunnel::port_number;

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
