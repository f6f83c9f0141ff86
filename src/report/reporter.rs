//! The trait, and the loop that feeds all reporters of a run.

use tokio::sync::mpsc;

use crate::event::{EventKind, RunEvent};

use super::error::ReportError;
use super::fold::Fold;

/// One output of a run.
pub trait Reporter: Send {
    /// Hears one event; `fold` already counts it in. Must not block longer than a write takes. What goes wrong is kept
    /// for [`Reporter::finish`].
    fn on_event(&mut self, event: &RunEvent, fold: &Fold);

    /// Says the last word. Called once, also after a stream that ended without `RunFinished`. `problems` is what the
    /// reporters before this one could not write.
    fn finish(&mut self, fold: &Fold, problems: &[ReportError]) -> Result<(), ReportError>;
}

/// Feeds the reporters until the run is over, then lets each finish, in the given order: the one a person reads comes
/// last, because it names what the others could not write. Blocks; give it a thread on which that is allowed.
pub fn report(mut events: mpsc::Receiver<RunEvent>, reporters: &mut [Box<dyn Reporter>]) -> (Fold, Vec<ReportError>) {
    let mut fold = Fold::default();
    while let Some(event) = events.blocking_recv() {
        fold.apply(&event);
        for reporter in reporters.iter_mut() {
            reporter.on_event(&event, &fold);
        }
        if matches!(event.kind, EventKind::RunFinished(_)) {
            break;
        }
    }
    let mut problems = Vec::new();
    for reporter in reporters.iter_mut() {
        if let Err(problem) = reporter.finish(&fold, &problems) {
            problems.push(problem);
        }
    }
    (fold, problems)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::event::Events;
    use crate::report::testing::{finished, notice};

    /// Fails to finish, and remembers what it heard and was told.
    #[derive(Clone, Default)]
    struct Clumsy(Arc<Mutex<(usize, usize)>>);

    impl Reporter for Clumsy {
        fn on_event(&mut self, _: &RunEvent, _: &Fold) {
            self.0.lock().expect("no panic").0 += 1;
        }

        fn finish(&mut self, _: &Fold, problems: &[ReportError]) -> Result<(), ReportError> {
            self.0.lock().expect("no panic").1 = problems.len();
            Err(ReportError::File { path: "x".into(), reason: std::io::Error::other("full") })
        }
    }

    #[tokio::test]
    async fn the_last_reporter_hears_what_the_others_could_not_write() {
        let (events, receiver) = Events::channel();
        let (first, last) = (Clumsy::default(), Clumsy::default());
        let mut reporters: Vec<Box<dyn Reporter>> = vec![Box::new(first.clone()), Box::new(last.clone())];
        let task = tokio::task::spawn_blocking(move || report(receiver, &mut reporters));
        events.emit_global(notice("hello")).await;
        events.emit_global(finished()).await;
        events.emit_global(notice("too late")).await;
        let (fold, problems) = task.await.expect("no panic");
        assert!(fold.result.is_some());
        assert_eq!(problems.len(), 2);
        assert_eq!(*first.0.lock().expect("no panic"), (2, 0));
        assert_eq!(*last.0.lock().expect("no panic"), (2, 1));
    }
}
