//! Shows the code by which a device attaches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::attach::{AttachPresenter, Invitation, QrStyle, Waiting};
use crate::dashboard::Invitations;
use crate::report::{Terminal, line};

/// How often a wait is told where no line can move.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// How invitations are shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PresentOptions {
    /// Show the link as text.
    pub(super) show_url: bool,
    /// Draw the code in any case.
    pub(super) force_qr: bool,
    /// Whether the output is a terminal that obeys escapes.
    pub(super) is_terminal: bool,
    /// Whether a dashboard shows it too.
    pub(super) dashboard: bool,
    /// Columns and lines of the terminal, where they are known.
    pub(super) size: Option<(usize, usize)>,
}

/// Shows invitations on a terminal, or says where they can be seen.
pub(super) struct Presenter {
    output: Terminal,
    options: PresentOptions,
    told: Duration,
    /// What is shown now, and since when.
    shown: Option<(Invitation, Instant)>,
}

impl Presenter {
    pub(super) fn new(output: Terminal, options: PresentOptions) -> Self {
        Self { output, options, told: Duration::ZERO, shown: None }
    }

    /// Shows what was shown last once more, with the time that is left.
    pub(super) fn show_again(&self) {
        let Some((invitation, since)) = &self.shown else {
            return self.output.print("There is no code to show at the moment.\n");
        };
        let valid_for = invitation.valid_for.saturating_sub(since.elapsed());
        self.output.print(&self.text(&Invitation { valid_for, ..invitation.clone() }));
    }

    fn text(&self, invitation: &Invitation) -> String {
        let PresentOptions { show_url, force_qr, is_terminal, dashboard, size } = self.options;
        let mut text = String::new();
        if is_terminal || force_qr {
            let misfit = size.and_then(|(columns, lines)| invitation.qr.misfit(columns, lines));
            // On a narrow terminal its lines would wrap, and nothing could read it.
            let wraps = size.is_some_and(|(columns, _)| invitation.qr.columns() > columns);
            if !wraps {
                let style = if is_terminal { QrStyle::Terminal } else { QrStyle::Plain };
                text.push_str(&format!("\n{}\n", invitation.qr.draw(style)));
            }
            let elsewhere = if dashboard { " The dashboard shows it, too." } else { "" };
            text.extend(misfit.map(|misfit| format!("{misfit}{elsewhere}\n")));
            let minutes = invitation.valid_for.as_secs().div_ceil(60);
            let what = if invitation.renewed { "A fresh code: scan" } else { "Scan" };
            text.push_str(&format!("{what} it with the phone; it is accepted for {minutes} min.\n"));
        } else if !show_url && !invitation.renewed {
            let place = if dashboard { "shown on the dashboard only" } else { "not shown" };
            text.push_str(&format!(
                "The QR code is {place} because stdout is no terminal: --qr-stdout shows it in any case, --show-url \
                 shows the link.\n",
            ));
        }
        if show_url {
            // The person asked for it; this is the one place where a link is shown.
            text.push_str(&format!("Attach link: {}\n", invitation.link.expose()));
        }
        text
    }
}

impl AttachPresenter for Presenter {
    fn show(&mut self, invitation: &Invitation) {
        self.shown = Some((invitation.clone(), Instant::now()));
        self.output.print(&self.text(invitation));
    }

    fn withdraw(&mut self, why: &str) {
        self.shown = None;
        self.output.print(&format!("Do not scan the code above any more. {}\n", line(why)));
    }

    fn waiting(&mut self, waiting: &Waiting) {
        let text = sentence(waiting);
        if self.output.has_progress() {
            self.output.set_progress(text);
        } else if waiting.elapsed >= self.told + TELL_EVERY {
            self.told = waiting.elapsed;
            self.output.print(&format!("{text}\n"));
        }
    }

    fn done(&mut self) {
        self.told = Duration::ZERO;
        self.shown = None;
    }
}

/// The presenter of a terminal, for whoever shows invitations and for the keys.
#[derive(Clone)]
pub(super) struct SharedPresenter(Arc<Mutex<Presenter>>);

impl SharedPresenter {
    pub(super) fn new(presenter: Presenter) -> Self {
        Self(Arc::new(Mutex::new(presenter)))
    }

    /// The presenter itself.
    pub(super) fn lock(&self) -> MutexGuard<'_, Presenter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows invitations on the terminal and on the dashboard.
pub(super) struct Everywhere {
    pub(super) terminal: SharedPresenter,
    pub(super) dashboard: Option<Invitations>,
}

impl Everywhere {
    fn each(&mut self, act: impl Fn(&mut dyn AttachPresenter)) {
        // A terminal may be slow to take its text; the dashboard never is.
        if let Some(dashboard) = &mut self.dashboard {
            act(dashboard);
        }
        act(&mut *self.terminal.lock());
    }
}

impl AttachPresenter for Everywhere {
    fn show(&mut self, invitation: &Invitation) {
        self.each(|one| one.show(invitation));
    }

    fn withdraw(&mut self, why: &str) {
        self.each(|one| one.withdraw(why));
    }

    fn waiting(&mut self, waiting: &Waiting) {
        self.each(|one| one.waiting(waiting));
    }

    fn done(&mut self) {
        self.each(|one| one.done());
    }
}

/// `Waiting for a page, 90 s (30 s left): nobody has called yet`.
fn sentence(waiting: &Waiting) -> String {
    let left = waiting.left.map(|left| format!(" ({} s left)", left.as_secs())).unwrap_or_default();
    let seen = if waiting.seen.is_empty() { String::new() } else { format!(": {}", line(&waiting.seen)) };
    format!("Waiting for a page, {} s{left}{seen}", waiting.elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::attach::Qr;
    use crate::secret::Hidden;

    const LINK: &str = "http://127.0.0.1:4000/attach?at=123456";

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn shown(options: PresentOptions, act: impl FnOnce(&mut Presenter, &Invitation)) -> String {
        let memory = Memory::default();
        let mut presenter = Presenter::new(Terminal::to(Box::new(memory.clone())), options);
        let link = Hidden::new(LINK);
        let qr = Qr::new(&link).unwrap();
        act(&mut presenter, &Invitation { link, qr, valid_for: Duration::from_secs(175), renewed: false });
        let bytes = memory.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_link_is_shown_only_where_it_was_asked_for() {
        let show = |presenter: &mut Presenter, invitation: &Invitation| presenter.show(invitation);
        let piped = shown(PresentOptions::default(), show);
        assert!(piped.contains("--show-url") && !piped.contains("127.0.0.1"), "{piped}");
        let terminal = shown(PresentOptions { is_terminal: true, ..PresentOptions::default() }, show);
        assert!(terminal.contains('█') && terminal.contains("3 min") && !terminal.contains("127.0.0.1"), "{terminal}");
        let asked = shown(PresentOptions { show_url: true, ..PresentOptions::default() }, show);
        assert_eq!(asked, format!("Attach link: {LINK}\n"));
    }

    #[test]
    fn a_code_in_a_pipe_has_no_escapes_and_a_narrow_terminal_gets_none() {
        let show = |presenter: &mut Presenter, invitation: &Invitation| presenter.show(invitation);
        let forced = shown(PresentOptions { force_qr: true, ..PresentOptions::default() }, show);
        assert!(forced.contains('█') && !forced.contains('\x1b'), "{forced}");
        let narrow =
            PresentOptions { is_terminal: true, dashboard: true, size: Some((20, 80)), ..PresentOptions::default() };
        let narrow = shown(narrow, show);
        assert!(
            narrow.contains("this terminal has 20 and 80") && narrow.contains("dashboard") && !narrow.contains('█'),
            "{narrow}"
        );
    }

    #[test]
    fn a_code_is_shown_again_as_long_as_there_is_one() {
        let options = PresentOptions { show_url: true, ..PresentOptions::default() };
        let text = shown(options, |presenter, invitation| {
            presenter.show_again();
            presenter.show(invitation);
            presenter.show_again();
            presenter.done();
            presenter.show_again();
        });
        let (none, link) = ("There is no code to show at the moment.\n", format!("Attach link: {LINK}\n"));
        assert_eq!(text, [none, &link, &link, none].concat());
    }

    #[test]
    fn a_code_that_leads_nowhere_is_taken_back() {
        let text = shown(PresentOptions::default(), |presenter, _| presenter.withdraw("The tunnel is down."));
        assert_eq!(text, "Do not scan the code above any more. The tunnel is down.\n");
    }

    #[test]
    fn a_wait_is_counted() {
        let text = shown(PresentOptions::default(), |presenter, _| {
            for seconds in 0..=65 {
                let (elapsed, left) = (Duration::from_secs(seconds), Some(Duration::from_secs(120 - seconds)));
                presenter.waiting(&Waiting { elapsed, left, seen: "nobody has called yet".into() });
            }
        });
        let lines = ["30 s (90 s left)", "60 s (60 s left)"];
        let lines = lines.map(|time| format!("Waiting for a page, {time}: nobody has called yet\n"));
        assert_eq!(text, lines.concat());
    }
}
