//! Bundlers that are dropped while they work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bundler::Bundler;

use crate::project::{Project, TEST};

/// Modules of a file that takes a while to bundle.
const MODULES: usize = 60;

#[test]
fn one_that_is_dropped_while_it_works_ends_what_is_under_way_without_a_panic() {
    let panics = Arc::new(AtomicUsize::new(0));
    let (counted, usual) = (panics.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some("bundler") {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        usual(panic);
    }));
    let imports: String = (0..MODULES).map(|n| format!("import './m{n}';\n")).collect();
    let mut project = Project::new(&imports);
    for n in 0..MODULES {
        project = project.file(&format!("src/m{n}.ts"), format!("it({n});\n"));
    }
    for waits in 0..20 {
        let bundler = Bundler::new(project.options()).unwrap();
        let mut job = bundler.start(vec![project.path(TEST); 20]);
        // At another moment of the work each time.
        std::thread::sleep(std::time::Duration::from_millis(waits));
        drop(bundler);
        let mut given = 0;
        while let Some((_, result)) = job.results.blocking_recv() {
            assert!(result.is_ok(), "{result:?}");
            given += 1;
        }
        assert!(given < 20, "files that were not begun are left");
    }
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}
