//! What became of each test from one run to another.

use std::collections::HashMap;

use super::fold::Fold;
use crate::event::TestState;
use crate::ident::TestId;

/// What became of the tests of one run in a later one. Lists are in the order of the later run; tests that were not run
/// in either are in none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Failed, and did not before.
    pub broken: Vec<TestId>,
    /// Passed, and failed before.
    pub fixed: Vec<TestId>,
    /// Failed both times.
    pub still_failing: Vec<TestId>,
    /// Passed both times.
    pub still_passing: usize,
    /// There, and not known before; failed ones are broken, too.
    pub added: Vec<TestId>,
    /// Run before, and not any more: taken out, skipped, or its file was not run.
    pub gone: Vec<TestId>,
}

impl Comparison {
    /// Compares two runs.
    pub fn of(before: &Fold, after: &Fold) -> Self {
        let (old, new) = (verdicts(before), verdicts(after));
        let known: HashMap<&TestId, bool> = old.iter().copied().collect();
        let mut all = Self::default();
        for (id, passed) in &new {
            match (known.get(id), *passed) {
                (Some(true), true) => all.still_passing += 1,
                (Some(false), true) => all.fixed.push((*id).clone()),
                (Some(false), false) => all.still_failing.push((*id).clone()),
                (Some(true) | None, false) => all.broken.push((*id).clone()),
                (None, true) => {}
            }
            if !known.contains_key(id) {
                all.added.push((*id).clone());
            }
        }
        let now: HashMap<&TestId, bool> = new.into_iter().collect();
        all.gone.extend(old.into_iter().filter(|(id, _)| !now.contains_key(id)).map(|(id, _)| id.clone()));
        all
    }
}

/// The tests that ran, in order, and whether each passed.
fn verdicts(run: &Fold) -> Vec<(&TestId, bool)> {
    let tests = run.files.iter().flat_map(|file| &file.tests);
    let verdict = |state| match state {
        TestState::Passed => Some(true),
        TestState::Failed => Some(false),
        TestState::Skipped | TestState::Todo => None,
    };
    tests.filter_map(|test| Some((&test.id, verdict(test.result.as_ref()?.state)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{Script, error, failed, passed, skipped};

    const FILE: &str = "a.ait.test.ts";

    fn run(tests: &[(&str, TestState)]) -> Fold {
        let titles: Vec<&str> = tests.iter().map(|(title, _)| *title).collect();
        let script = tests.iter().fold(Script::new(&[FILE]).file(FILE, &titles), |script, (title, state)| {
            let result = match state {
                TestState::Passed => passed(),
                TestState::Failed => failed(error("no")),
                TestState::Skipped | TestState::Todo => skipped("not now"),
            };
            script.test(FILE, title, result)
        });
        let mut fold = Fold::default();
        script.events().iter().for_each(|event| fold.apply(event));
        fold
    }

    #[test]
    fn each_test_is_where_it_belongs() {
        use TestState::{Failed, Passed, Skipped};
        let before = run(&[("a", Passed), ("b", Failed), ("c", Failed), ("d", Passed), ("e", Passed), ("s", Skipped)]);
        let after = run(&[
            ("a", Passed),
            ("b", Passed),
            ("c", Failed),
            ("d", Failed),
            ("e", Skipped),
            ("f", Failed),
            ("s", Passed),
        ]);
        let ids = |titles: &[&str]| titles.iter().map(|title| TestId(format!("{FILE} > {title}"))).collect::<Vec<_>>();
        let expected = Comparison {
            broken: ids(&["d", "f"]),
            fixed: ids(&["b"]),
            still_failing: ids(&["c"]),
            still_passing: 1,
            added: ids(&["f", "s"]),
            gone: ids(&["e"]),
        };
        assert_eq!(Comparison::of(&before, &after), expected);
        assert_eq!(Comparison::of(&after, &after).still_passing, 3);
    }
}
