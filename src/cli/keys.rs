//! Single keys from a terminal.

#[cfg(unix)]
pub(super) use unix::Keys;

/// No keys are read from consoles of Windows.
#[cfg(not(unix))]
pub(super) struct Keys;

#[cfg(not(unix))]
impl Keys {
    pub(super) fn listen(_: impl FnMut(u8) + Send + 'static) -> Option<Self> {
        None
    }
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{JoinHandle, sleep, spawn};
    use std::time::Duration;

    use rustix::stdio::{stdin, stdout};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// How often it looks whether it is to end, in tenths of a second: the end of a run must not wait for a key.
    const TENTHS: u8 = 1;
    /// The same for a process in the background, which must not touch the terminal.
    const IN_BACKGROUND: Duration = Duration::from_millis(100);

    /// Listens to single keys until it is dropped, which gives the terminal back as it was. Ctrl-C and Ctrl-Z stay what
    /// they are, and so does what is printed.
    #[derive(Debug)]
    pub(in crate::cli) struct Keys {
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    }

    impl Keys {
        /// Calls `on_key` with each key; `None` where standard input and output are no terminal of ours.
        pub(in crate::cli) fn listen(on_key: impl FnMut(u8) + Send + 'static) -> Option<Self> {
            // Behind a pipe there may be a pager, which reads the keys of the same terminal.
            if !isatty(stdin()) || !isatty(stdout()) || tcgetpgrp(stdin()).is_err() {
                return None;
            }
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = Arc::clone(&stop);
            let thread = spawn(move || listen(&stopped, on_key));
            Some(Self { stop, thread: Some(thread) })
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            self.stop.store(true, Ordering::Relaxed);
            if let Some(thread) = self.thread.take() {
                // It ended, or it panicked and gave the terminal back while it did.
                drop(thread.join());
            }
        }
    }

    fn listen(stop: &AtomicBool, mut on_key: impl FnMut(u8)) {
        let mut mode = Mode(None);
        while !stop.load(Ordering::Relaxed) {
            if !in_foreground() {
                sleep(IN_BACKGROUND);
                continue;
            }
            let mut keys = [0; 16];
            // A shell that brings us back from the background has set the terminal as it likes it.
            match mode.set().and_then(|()| Ok(rustix::io::read(stdin(), &mut keys)?)) {
                Ok(count) => keys.iter().take(count).for_each(|key| on_key(*key)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The terminal is gone.
                Err(_) => break,
            }
        }
    }

    fn in_foreground() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// The mode in which keys come one by one and are not shown; with what it was before.
    struct Mode(Option<Termios>);

    impl Mode {
        fn set(&mut self) -> io::Result<()> {
            let mut now = tcgetattr(stdin())?;
            let lines = LocalModes::ICANON | LocalModes::ECHO;
            if !now.local_modes.intersects(lines) {
                return Ok(());
            }
            self.0.get_or_insert_with(|| now.clone());
            now.local_modes.remove(lines);
            now.special_codes[SpecialCodeIndex::VMIN] = 0;
            now.special_codes[SpecialCodeIndex::VTIME] = TENTHS;
            Ok(tcsetattr(stdin(), OptionalActions::Now, &now)?)
        }
    }

    impl Drop for Mode {
        fn drop(&mut self) {
            // In the background it belongs to somebody else, who has set it already.
            if let Some(before) = self.0.take().filter(|_| in_foreground()) {
                // A terminal that is gone needs nothing back.
                let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
            }
        }
    }
}
