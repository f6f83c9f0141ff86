//! How a person follows a run: the dashboard, and the keys that may be pressed meanwhile.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use webbrowser::{Browser, BrowserOptions};

use crate::dashboard::{Dashboard, DashboardError, Invitations};
use crate::report::{Reporter, Terminal, line};
use crate::secret::Hidden;
use crate::settings::DashboardSettings;

use super::keys::Keys;
use super::present::SharedPresenter;

/// How long readers of the dashboard get to hear the end: all of them are on this machine.
const TELL_WITHIN: Duration = Duration::from_secs(1);
/// The same for a run that was asked to end, and most of whose three seconds may be gone.
const TELL_WHEN_STOPPED: Duration = Duration::from_millis(150);

/// The dashboard of a run, where there is one, with the keys that belong to it.
pub(super) struct Follow {
    dashboard: Option<Dashboard>,
    keys: Option<Keys>,
    /// Browsers that are being started; a slow one keeps nobody waiting.
    opening: TaskTracker,
}

impl Follow {
    /// Starts the dashboard where the settings want one.
    pub(super) async fn start(settings: &DashboardSettings) -> Result<Self, DashboardError> {
        let dashboard = if settings.enabled {
            Some(Dashboard::start(settings.port.as_ref().map(|port| port.value)).await?)
        } else {
            None
        };
        Ok(Self { dashboard, keys: None, opening: TaskTracker::new() })
    }

    /// What hears the run's events for it.
    pub(super) fn reporter(&self) -> Option<Box<dyn Reporter>> {
        self.dashboard.as_ref().map(|dashboard| Box::new(dashboard.feed()) as Box<dyn Reporter>)
    }

    /// What shows invitations on it.
    pub(super) fn invitations(&self) -> Option<Invitations> {
        self.dashboard.as_ref().map(Dashboard::invitations)
    }

    /// Says where it is, opens it where that was asked for, and listens to the keys of a terminal.
    pub(super) fn announce(
        mut self,
        settings: &DashboardSettings,
        output: Terminal,
        presenter: SharedPresenter,
    ) -> Self {
        let Some(dashboard) = &self.dashboard else { return self };
        let address = dashboard.address();
        let (opening, runtime) = (self.opening.clone(), Handle::current());
        let (opened, told) = (address.clone(), output.clone());
        let open = move || {
            let (address, output) = (opened.clone(), told.clone());
            drop(opening.spawn_blocking_on(move || open_browser(&address, &output), &runtime));
        };
        if settings.open {
            open();
        }
        self.keys = Keys::listen(move |key| match key {
            b'o' => open(),
            b'c' => presenter.lock().show_again(),
            _ => {}
        });
        let keys = if self.keys.is_some() { " (o opens it, c shows the code again)" } else { "" };
        output.print(&format!("Dashboard: {}{keys}\n", address.expose()));
        self
    }

    /// Gives the terminal back, and tells whoever looks at the dashboard that this was all.
    pub(super) async fn end(self, stopped: bool) {
        drop(self.keys);
        if let Some(dashboard) = self.dashboard {
            dashboard.shutdown(if stopped { TELL_WHEN_STOPPED } else { TELL_WITHIN }).await;
        }
    }
}

/// Opens the dashboard in the person's browser; says so where that does not work.
fn open_browser(address: &Hidden, output: &Terminal) {
    let options = BrowserOptions::new().with_suppress_output(true).to_owned();
    if let Err(error) = webbrowser::open_browser_with_options(Browser::Default, address.expose(), &options) {
        let why = error.to_string().replace(address.expose(), "the dashboard");
        output.print(&format!("No browser could be opened: {}. Open the address yourself.\n", line(&why)));
    }
}
