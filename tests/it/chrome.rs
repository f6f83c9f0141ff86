//! A real Chrome: start, page, loss, end. What a browser must survive and what must not survive us.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use devtools_test::cdp::page::PageSource;
use devtools_test::cdp::runtime::{EvaluateOptions, evaluate};
use devtools_test::cdp::{CdpError, CloseReason};
use devtools_test::chrome::{Browser, ChromeError, ChromeOptions, ChromePages, LaunchOptions, find};
use devtools_test::event::{Events, LossCause};
use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(20);

fn program() -> PathBuf {
    find(None, std::env::var("PATH").ok().as_deref()).expect("scripts/setup installs a Chrome")
}

fn options(program: PathBuf) -> LaunchOptions {
    LaunchOptions { program, no_sandbox: false }
}

fn page_options(page_url: Option<String>) -> ChromeOptions {
    let search_path = std::env::var("PATH").ok();
    ChromeOptions {
        bypass_csp: false,
        browser: None,
        search_path,
        no_sandbox: false,
        page_url,
        first_script: None,
        navigate_within: WITHIN,
    }
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn group_lives(leader: u32) -> bool {
    rustix::process::test_kill_process_group(rustix::process::Pid::from_raw(leader.cast_signed()).unwrap()).is_ok()
}

async fn value(page: &devtools_test::cdp::page::Page, expression: &str) -> Value {
    let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
    evaluate(&page.session, expression, options, WITHIN).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_our_own_is_a_secure_context_with_storage() {
    let (events, _receiver) = Events::channel();
    let mut pages = ChromePages::new(page_options(None));
    let page = pages.open(&events).await.unwrap();
    assert!(page.info.url.starts_with("http://127.0.0.1:"), "{:?}", page.info);
    assert!(page.info.engine.starts_with("Chrome "), "{:?}", page.info);
    assert_eq!(value(&page, "localStorage.setItem('a', '1'); isSecureContext && localStorage.a").await, json!("1"));
    let again = pages.replace(LossCause::Busy, &events).await.unwrap();
    assert_eq!(value(&again, "localStorage.a").await, json!("1"), "one run, one storage");
    assert!(matches!(page.session.closed().await, CloseReason::TargetClosed(_)));
    pages.close().await;
    assert!(matches!(again.session.closed().await, CloseReason::BrowserGone(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_and_a_crash_do_not_keep_a_new_page_away() {
    let (events, _receiver) = Events::channel();
    let mut pages = ChromePages::new(page_options(None));
    let page = pages.open(&events).await.unwrap();
    let looping = evaluate(&page.session, "for (;;) {}", EvaluateOptions::default(), Duration::from_millis(200)).await;
    assert!(looping.is_err());
    let page = pages.replace(LossCause::Busy, &events).await.unwrap();
    let crash = page.session.call::<Value>("Page.crash", json!({}), WITHIN).await;
    assert!(crash.is_err());
    assert!(matches!(page.session.closed().await, CloseReason::Crashed(_)));
    let page = pages.replace(LossCause::Crashed, &events).await.unwrap();
    assert_eq!(value(&page, "1 + 1").await, json!(2));
    pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_and_dropping_end_the_whole_group_and_the_profile() {
    for close in [true, false] {
        let browser = Browser::launch(&options(program())).await.unwrap();
        let pid = browser.pid().unwrap();
        let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        let profile = arguments.split('\0').find_map(|a| a.strip_prefix("--user-data-dir=")).map(PathBuf::from);
        assert!(group_lives(pid));
        if close {
            browser.close().await;
        } else {
            drop(browser);
        }
        let started = Instant::now();
        while group_lives(pid) && started.elapsed() < WITHIN {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!group_lives(pid), "close: {close}");
        if let (true, Some(profile)) = (close, profile) {
            assert!(!profile.exists(), "{}", profile.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_is_killed_ends_every_pending_call() {
    let browser = Browser::launch(&options(program())).await.unwrap();
    let root = browser.client().root();
    let pending = root.call::<Value>("Target.createTarget", json!({"url": "about:blank"}), WITHIN);
    rustix::process::kill_process_group(
        rustix::process::Pid::from_raw(browser.pid().unwrap().cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let ended = tokio::time::timeout(WITHIN, async {
        drop(pending.await);
        root.call::<Value>("Browser.getVersion", json!({}), WITHIN).await
    });
    let error = ended.await.expect("no call hangs").unwrap_err();
    assert!(matches!(error, CdpError::Closed { reason: CloseReason::BrowserGone(_) }), "{error}");
}

#[tokio::test]
async fn a_start_that_fails_says_why_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let reason = script(folder.path(), "reason", "#!/bin/sh\necho 'libnss3.so: cannot open' >&2\nexit 7\n");
    let late = "#!/bin/sh\nexec 3<&- 4>&-\n{ sleep 0.5; echo 'Too many open files' >&2; } &\nexit 7\n";
    let late = script(folder.path(), "late", late);
    let not_executable = folder.path().join("plain");
    std::fs::write(&not_executable, "x").unwrap();
    for (program, expected) in [
        (PathBuf::from("/bin/false"), vec!["exit status 1"]),
        (reason, vec!["exit status 7", "libnss3.so: cannot open"]),
        (late, vec!["exit status 7", "Too many open files"]),
        (not_executable, vec!["could not be started"]),
    ] {
        let started = Instant::now();
        let error = Browser::launch(&options(program)).await.unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{error}");
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{error}");
    }
}

#[tokio::test]
async fn a_browser_that_dies_once_it_has_spoken_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\nprintf '{\"id\":1,\"result\":{}}\\000' >&4\nexec 3<&- 4>&-\n\
                echo '[1:FATAL:pump.cc(146)] Too many open files' >&2\necho Trace >&2\nexit 133\n";
    let browser = Some(script(folder.path(), "dies", text));
    let mut pages = ChromePages::new(ChromeOptions { browser, ..page_options(None) });
    let error = pages.open(&Events::channel().0).await.unwrap_err().message;
    assert!(error.contains("the browser ended") && error.contains("Too many open files"), "{error}");
    assert!(!error.contains("Trace"), "{error}");
    pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_on_stderr_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "#!/bin/sh\nfor i in 1 2 3; do echo 'ERROR: harmless' >&2; done\nexec {} \"$@\"\n",
        program().display()
    );
    let browser = Browser::launch(&options(script(folder.path(), "noisy", &text))).await.unwrap();
    browser.close().await;
}

#[tokio::test]
async fn a_page_that_cannot_be_opened_is_named_with_its_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    drop(listener);
    let (events, _receiver) = Events::channel();
    let mut pages = ChromePages::new(page_options(Some(url.clone())));
    let error = pages.open(&events).await.unwrap_err().message;
    assert!(error.contains(&url) && error.contains("is its server running?"), "{error}");
    pages.close().await;
}

#[test]
fn the_browser_that_was_asked_for_is_not_exchanged() {
    assert!(matches!(find(Some(Path::new("/nowhere/chrome")), None), Err(ChromeError::NotThere(_))));
}
