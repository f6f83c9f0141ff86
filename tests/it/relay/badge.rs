//! The sign in the page that a debugger is connected, in both engines. What it shows and when it goes is tried in
//! `test-runner/tests/agent-badge.test.mjs`.

use super::*;

/// What the page can tell of it.
const LOOK: &str = r"(() => {
  const found = document.querySelectorAll('html > #__ait_debug_indicator');
  if (found.length !== 1) return found.length;
  const [host] = found;
  const { position, pointerEvents } = getComputedStyle(host);
  const { left, top, width, height } = host.getBoundingClientRect();
  return {
    state: host.dataset.state,
    sealed: host.shadowRoot === null,
    silent: host.getAttribute('aria-hidden'),
    floats: position + ' ' + pointerEvents,
    seen: width > 20 && height > 10 && width < 200 && height < 40 && left >= 0 && top >= 0,
    below: document.elementFromPoint(left + width / 2, top + height / 2) !== host,
    told: /127[.]|:\/\/|at=/.test(host.outerHTML),
    body: document.body.querySelector('#__ait_debug_indicator'),
  };
})()";

async fn shows(page: &Page) {
    let seen = value(page, LOOK).await;
    let expected = json!({
        "state": "attached", "sealed": true, "silent": "true", "floats": "fixed none", "seen": true, "below": true,
        "told": false, "body": null,
    });
    assert_eq!(seen, expected, "{}", page.info.engine);
    assert_eq!(
        value(
            page,
            "document.body.innerText.includes('Debugger') || document.documentElement.innerText.includes('Debugger')"
        )
        .await,
        json!(false)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chrome_shows_it_until_the_session_is_over() {
    let mut desk = Desk::new(WITHIN);
    let (page, phone) = desk.attach().await;
    shows(&page).await;
    desk.pages.close().await;
    let there = "document.getElementById('__ait_debug_indicator')?.dataset.state ?? 'none'";
    let states = tokio::task::spawn_blocking(move || {
        let mut states = Vec::new();
        let began = std::time::Instant::now();
        while states.last() != Some(&json!("none")) && began.elapsed() < WITHIN {
            let state = phone.tap(there);
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
        (states, began.elapsed())
    });
    let (states, took) = states.await.unwrap();
    assert_eq!(states.iter().rev().take(2).rev().collect::<Vec<_>>(), [&json!("disconnected"), &json!("none")]);
    assert!(took > Duration::from_secs(4), "a person has time to see it: {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webkit_shows_it() {
    let mut desk = Desk::new(WITHIN);
    let (page, mut webkit) = desk.attach_webkit().await;
    shows(&page).await;
    desk.pages.close().await;
    webkit.close().await;
}
