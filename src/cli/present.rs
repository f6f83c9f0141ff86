//! Shows the code by which a device attaches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::attach::{AttachPresenter, Invitation, Progress, QrStyle, Waiting};
use crate::dashboard::Invitations;
use crate::report::{Terminal, line};

use super::qr_file::QrFile;

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
    /// Whether it is in a file, too.
    pub(super) file: bool,
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

    /// How long what is shown is still accepted.
    fn valid_for(&self) -> Option<Duration> {
        self.shown.as_ref().map(|(invitation, since)| invitation.valid_for.saturating_sub(since.elapsed()))
    }

    fn text(&self, invitation: &Invitation) -> String {
        let PresentOptions { show_url, force_qr, is_terminal, dashboard, file, size } = self.options;
        let mut text = String::new();
        if is_terminal || force_qr {
            let misfit = size.and_then(|(columns, lines)| invitation.qr.misfit(columns, lines));
            // On a narrow terminal its lines would wrap, and nothing could read it.
            let wraps = size.is_some_and(|(columns, _)| invitation.qr.columns() > columns);
            if !wraps {
                let style = if is_terminal { QrStyle::Terminal } else { QrStyle::Plain };
                text.push_str(&format!("\n{}", invitation.qr.draw(style)));
            }
            let elsewhere = match (dashboard, file) {
                (true, _) => " Scan it on the dashboard (key o), or make the terminal larger and press c.",
                (false, true) => " Scan it from the file, or make the terminal larger and press c.",
                (false, false) => " Make it larger and press c, or have it written to a file with --qr-file code.png.",
            };
            text.extend(misfit.map(|misfit| format!("{misfit}{elsewhere}\n")));
            let what = if invitation.renewed { "A fresh code: scan" } else { "Scan" };
            let time = clock(invitation.valid_for);
            text.push_str(&format!("{what} it with the phone; it is accepted for {time}.\n"));
        } else if !show_url && !file && !invitation.renewed {
            let place = if dashboard { "shown on the dashboard only" } else { "not shown" };
            text.push_str(&format!(
                "The QR code is {place} because stdout is no terminal: --qr-stdout shows it in any case, --qr-file \
                 writes it as a picture, --show-url shows the link.\n",
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
        if self.output.has_progress() {
            self.output.set_progress(progress(waiting, self.valid_for()));
        } else if waiting.elapsed >= self.told + TELL_EVERY {
            self.told = waiting.elapsed;
            self.output.print(&format!("{}\n", sentence(waiting, self.valid_for())));
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

/// Shows invitations on the terminal, on the dashboard and in a file.
pub(super) struct Everywhere {
    pub(super) terminal: SharedPresenter,
    pub(super) dashboard: Option<Invitations>,
    pub(super) file: Option<QrFile>,
}

impl Everywhere {
    fn each(&mut self, act: impl Fn(&mut dyn AttachPresenter)) {
        // A terminal may be slow to take its text; the dashboard never is.
        if let Some(dashboard) = &mut self.dashboard {
            act(dashboard);
        }
        act(&mut *self.terminal.lock());
        if let Some(file) = &mut self.file {
            act(file);
        }
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

/// `Waiting for a page, 1:30 (0:30 left): code shown, accepted for 2:05; nobody has called yet`.
fn sentence(waiting: &Waiting, valid_for: Option<Duration>) -> String {
    let left = waiting.left.map(|left| format!(" ({} left)", clock(left))).unwrap_or_default();
    format!("Waiting for a page, {}{left}: {}", clock(waiting.elapsed), stage(waiting, valid_for))
}

/// The same for a line that moves and shows the time itself; what matters most comes first, since narrow terminals cut
/// its end: `Code shown, accepted for 2:05; nobody has called yet (gives up in 0:30)`.
fn progress(waiting: &Waiting, valid_for: Option<Duration>) -> String {
    let stage = stage(waiting, valid_for);
    let (first, rest) = stage.split_at(stage.chars().next().map_or(0, char::len_utf8));
    let left = waiting.left.map(|left| format!(" (gives up in {})", clock(left))).unwrap_or_default();
    format!("{}{rest}{left}", first.to_uppercase())
}

/// How far a wait has come.
fn stage(waiting: &Waiting, valid_for: Option<Duration>) -> String {
    if let Some(locked) = waiting.locked {
        return format!("no code is taken for another {}: too many were wrong", clock(locked));
    }
    match &waiting.progress {
        Progress::NoWay(words) if words.is_empty() => "starting the relay".into(),
        Progress::NoWay(words) => line(words).trim_end_matches('.').to_owned(),
        Progress::Nobody => {
            let time = valid_for.map(|time| format!(", accepted for {}", clock(time))).unwrap_or_default();
            format!("code shown{time}; {}", callers(waiting))
        }
        Progress::Accepted => "code accepted; the app has not loaded the agent yet".into(),
        Progress::AgentLoaded => "agent loaded; its page has not connected yet".into(),
        Progress::PassedOver => "pages called, but none that --device means".into(),
        Progress::Silent => "a page connected but answers nothing: keep it in the foreground".into(),
    }
}

fn callers(waiting: &Waiting) -> String {
    let calls = match waiting.refused {
        0 if waiting.leftovers > 0 => return "a page of an earlier run called and was refused".into(),
        0 => return "nobody has called yet".into(),
        1 => "1 call was".into(),
        more => format!("{more} calls were"),
    };
    let code = if waiting.expired == waiting.refused { "expired" } else { "wrong" };
    format!("{calls} refused ({code} code)")
}

/// `2:05`
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
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
        assert!(
            terminal.contains('█') && terminal.contains("accepted for 2:5") && !terminal.contains("127.0.0.1"),
            "{terminal}"
        );
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

    fn waiting(progress: Progress) -> Waiting {
        Waiting {
            elapsed: Duration::ZERO,
            left: None,
            seen: String::new(),
            progress,
            refused: 0,
            expired: 0,
            leftovers: 0,
            locked: None,
        }
    }

    #[test]
    fn a_wait_is_counted() {
        let text = shown(PresentOptions::default(), |presenter, _| {
            for seconds in 0..=65 {
                let (elapsed, left) = (Duration::from_secs(seconds), Some(Duration::from_secs(120 - seconds)));
                presenter.waiting(&Waiting { elapsed, left, ..waiting(Progress::Nobody) });
            }
        });
        let lines = ["0:30 (1:30 left)", "1:00 (1:00 left)"];
        let lines = lines.map(|time| format!("Waiting for a page, {time}: code shown; nobody has called yet\n"));
        assert_eq!(text, lines.concat());
    }

    #[test]
    fn every_step_of_a_wait_has_its_words() {
        let of = |waiting: &Waiting| progress(waiting, Some(Duration::from_secs(65)));
        assert_eq!(of(&waiting(Progress::NoWay("The tunnel is down.".into()))), "The tunnel is down");
        let nobody = waiting(Progress::Nobody);
        assert_eq!(of(&nobody), "Code shown, accepted for 1:05; nobody has called yet");
        let refused = |refused, expired| Waiting { refused, expired, ..nobody.clone() };
        assert_eq!(of(&refused(1, 1)), "Code shown, accepted for 1:05; 1 call was refused (expired code)");
        assert_eq!(of(&refused(3, 1)), "Code shown, accepted for 1:05; 3 calls were refused (wrong code)");
        let locked = Waiting { locked: Some(Duration::from_secs(43)), ..refused(10, 0) };
        assert_eq!(of(&locked), "No code is taken for another 0:43: too many were wrong");
        let left = Waiting { left: Some(Duration::from_secs(30)), ..waiting(Progress::Accepted) };
        assert_eq!(of(&left), "Code accepted; the app has not loaded the agent yet (gives up in 0:30)");
        assert!(of(&waiting(Progress::AgentLoaded)).starts_with("Agent loaded"));
        assert!(of(&waiting(Progress::Silent)).starts_with("A page connected"));
    }
}
