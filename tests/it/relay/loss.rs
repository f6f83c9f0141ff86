//! Pages that reload, move, get busy, are cut off or never come.

use devtools_test::cdp::CloseReason;
use devtools_test::event::LossCause;
use support::wire::{Faults, Wire};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_looks_like_a_navigation_in_chrome() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    call(&page, "Runtime.enable", json!({})).await;
    runtime::add_binding(&page.session, "__told", WITHIN).await.unwrap();
    value(&page, "sessionStorage.setItem('kept', 'yes')").await;
    let mut stream = page.session.events();
    let never = runtime::evaluate(
        &page.session,
        "location.reload(); new Promise(() => {})",
        EvaluateOptions { await_promise: true, ..EvaluateOptions::default() },
        WITHIN,
    );
    let Err(EvaluateError::Cdp(error)) = never.await else { panic!("it cannot answer") };
    assert!(error.to_string().contains("navigated"), "{error}");
    next(&mut stream, "Runtime.executionContextsCleared").await;
    next(&mut stream, "Runtime.executionContextCreated").await;
    // The session, what was enabled and the binding are still there.
    assert_eq!(value(&page, "__told('again'); sessionStorage.getItem('kept')").await, json!("yes"));
    let told: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
    assert_eq!(told.payload, "again");
    desk.pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_page_has_a_fresh_document() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    value(&page, "globalThis.mark = 1; history.pushState(null, '', '/attach?elsewhere')").await;
    let again = desk.pages.replace(LossCause::Navigated, &desk.events).await.unwrap();
    assert_eq!(
        value(&again, "`${typeof mark} ${location.pathname}${location.search}`").await,
        json!("undefined /attach")
    );
    assert!(page.session.is_closed());
    desk.pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_in_an_endless_loop_is_replaced_by_one_that_scans_again() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    let looping =
        runtime::evaluate(&page.session, "for (;;) {}", EvaluateOptions::default(), Duration::from_millis(300));
    assert!(matches!(looping.await, Err(EvaluateError::Cdp(CdpError::Deadline { .. }))));
    desk.told();
    let Desk { pages, links, events, .. } = &mut desk;
    let scan = async { Phone::open(&links.recv().await.unwrap()) };
    let (again, _other) = tokio::join!(pages.replace(LossCause::Busy, events), scan);
    let again = again.unwrap();
    assert_eq!(value(&again, "1 + 1").await, json!(2));
    let told = desk.told();
    assert!(told.iter().any(|(stage, words)| stage == "Reattaching" && words.contains("does not answer")), "{told:?}");
    desk.pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_nobody_answers_ends_and_says_so() {
    let mut desk = Desk::new(Duration::from_millis(300));
    let error = desk.pages.open(&desk.events).await.unwrap_err().to_string();
    assert!(error.contains("Nobody called"), "{error}");
    assert!(desk.links.try_recv().is_ok() && desk.links.try_recv().is_err(), "one link was shown");
    desk.pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_tells_the_page_and_takes_a_moment() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    let started = std::time::Instant::now();
    desk.pages.close().await;
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    assert!(matches!(page.session.closed().await, CloseReason::Disconnected(why) if why.contains("run is over")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_cut_loses_nothing_and_repeats_nothing() {
    let mut desk = Desk::new(WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, (_phone, wire)) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        let wire = Wire::to(&link, Faults::default());
        (Phone::open(&wire.link(&link)), wire)
    });
    let page = page.unwrap();
    call(&page, "Runtime.enable", json!({})).await;
    runtime::add_binding(&page.session, "__told", WITHIN).await.unwrap();
    let mut stream = page.session.events();
    value(&page, "globalThis.n = 0; globalThis.timer = setInterval(() => __told(`t${n++}`), 5); 0").await;
    for round in 0..5 {
        // A command is on its way in either direction when the connection ends.
        let slow = "globalThis.ran = (globalThis.ran ?? 0) + 1; new Promise((done) => setTimeout(done, 100, ran))";
        let (answer, ()) = tokio::join!(value(&page, slow), async {
            let told: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
            assert!(told.payload.starts_with('t'));
            tokio::task::block_in_place(|| wire.cut());
        });
        assert_eq!(answer, json!(round + 1));
    }
    let total = value(&page, "clearInterval(timer); n").await.as_u64().unwrap();
    value(&page, "__told('end')").await;
    let mut last = None;
    loop {
        let told: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
        if told.payload == "end" {
            break;
        }
        let number: u64 = told.payload[1..].parse().unwrap();
        assert!(last.is_none_or(|before| number == before + 1), "{number} after {last:?}");
        last = Some(number);
    }
    assert_eq!(last, Some(total - 1));
    assert_eq!(stream.lost(), 0);
    desk.pages.close().await;
}
