//! The page: a person sees what happens, whatever happens.

use std::time::Duration;

use devtools_test::attach::{AttachPresenter, Progress, Waiting};
use serde_json::json;

use super::screen::Stage;

const LINK: &str = "http://127.0.0.1:4000/attach?at=123456";
const FRESH: &str = "http://127.0.0.1:4000/attach?at=654321";
const VALID: Duration = Duration::from_secs(125);
/// O-35: a code that leads nowhere is gone within a second, in ms.
pub(super) const AT_ONCE: f64 = 1000.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_can_be_scanned_and_goes_with_the_way_it_leads() {
    let mut stage = Stage::start().await;
    stage.begin();
    stage.invite(LINK, VALID);
    let screen = stage.screen().await;
    screen.until("$('#qr')").await;
    assert_eq!(screen.scan().await, LINK);
    assert!(screen.text("#remaining").await.contains("2:0"), "{}", screen.text("#remaining").await);
    let before = screen.text("#remaining").await;
    screen.until(&format!("$('#remaining').innerText !== {}", json!(before))).await;

    stage.invite(FRESH, VALID);
    let path = screen.value("$('#qr path').getAttribute('d')").await;
    stage.invite(LINK, VALID);
    screen.until(&format!("$('#qr path').getAttribute('d') !== {path}")).await;

    stage.dashboard.invitations().withdraw("The tunnel is down: its edge knows it no more.");
    let took = screen.until("!$('#qr') && $('#problem[role=alert]')").await;
    assert!(took < AT_ONCE, "{took} ms");
    assert!(screen.text("#problem").await.contains("its edge knows it no more"));
    stage.invite(FRESH, VALID);
    screen.until("$('#qr') && !$('#problem')").await;
    assert_eq!(screen.scan().await, FRESH);

    stage.invite(LINK, Duration::ZERO);
    screen.until("!$('#qr') && $('.alert')").await;
    screen.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_appear_as_they_finish_and_the_end_stays() {
    let mut stage = Stage::start().await;
    stage.begin();
    let refused = |refused, expired, locked| Waiting {
        elapsed: Duration::from_secs(95),
        left: Some(Duration::from_secs(25)),
        seen: String::new(),
        progress: Progress::Nobody,
        refused,
        expired,
        leftovers: 0,
        locked,
    };
    stage.dashboard.invitations().waiting(&refused(1, 1, None));
    let screen = stage.screen().await;
    screen.until("$('#refusal').innerText.includes('had expired')").await;
    stage.dashboard.invitations().waiting(&refused(10, 1, Some(Duration::from_secs(43))));
    screen.until("$('#locked').innerText.includes('0:43')").await;
    assert!(screen.text("#refusal").await.starts_with("10 calls were refused"));
    stage.dashboard.invitations().waiting(&refused(10, 1, None));
    screen.until("!$('#locked') && $('#refusal').innerText.includes('the same secret')").await;
    assert!(screen.text("#waiting").await.contains("1:35, 0:25 left"), "{}", screen.text("#waiting").await);
    assert_eq!(screen.text("[aria-current=step]").await.lines().next().unwrap(), "Code shown");

    stage.attach();
    stage.results();
    screen.until("$('#device').innerText.includes('iPhone, iOS 18.5')").await;
    screen.until("$('#counts').innerText.includes('1 failed')").await;
    screen.until("$('.error')").await;
    let results = screen.text("main").await;
    for part in ["storage › keeps what was set", "-   \"theme\": \"dark\"", "expect(await Storage.all())", "12 ms"] {
        assert!(results.contains(part), "{part} is missing in\n{results}");
    }
    assert!(results.contains("<b>quota</b>"), "text stays text\n{results}");
    assert!(results.contains("in the background for 21 s"), "notices are shown\n{results}");
    assert!(screen.text("#status").await.contains("Running tests"));

    stage.end();
    screen.until("$('#status.bad').innerText.includes('1 test failed')").await;
    stage.dashboard.shutdown(Duration::from_secs(1)).await;
    // Were it to go on asking, it would find nobody and say so.
    screen.until("performance.now() > 0").await;
    assert!(screen.text("#status").await.starts_with("Failed"));
    assert!(screen.text("main").await.contains("keeps what was set"));
    assert_eq!(screen.value("document.title").await, json!("Failed · devtools-test"));
    screen.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_who_comes_late_sees_the_same() {
    let mut stage = Stage::start().await;
    stage.begin();
    stage.attach();
    let early = stage.screen().await;
    stage.results();
    early.until("$('#counts').innerText.includes('1 failed')").await;
    let late = stage.screen().await;
    late.until("$('#counts')?.innerText.includes('1 failed')").await;
    early.until("$('.notices')").await;
    assert_eq!(early.text("main").await, late.text("main").await);
    early.close().await;
    late.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_fits_phones_and_desks_in_both_themes() {
    let mut stage = Stage::start().await;
    stage.begin();
    stage.invite(LINK, VALID);
    let waiting = Waiting {
        elapsed: Duration::from_secs(42),
        left: Some(Duration::from_secs(78)),
        seen: String::new(),
        progress: Progress::Nobody,
        refused: 2,
        expired: 2,
        leftovers: 0,
        locked: None,
    };
    stage.dashboard.invitations().waiting(&waiting);
    let screen = stage.screen().await;
    screen.until("$('#qr')").await;
    pictures(&screen, "waiting").await;
    stage
        .dashboard
        .invitations()
        .withdraw("The tunnel is down: its edge does not know it any more. It is opened again.");
    screen.until("$('#problem')").await;
    pictures(&screen, "down").await;
    stage.attach();
    stage.results();
    screen.until("$('.error')").await;
    pictures(&screen, "running").await;
    stage.end();
    screen.until("$('#status.bad')").await;
    pictures(&screen, "failed").await;
    screen.value("$('#language').click()").await;
    screen.until("document.documentElement.lang === 'ko'").await;
    pictures(&screen, "korean").await;
    assert!(screen.text("#status").await.starts_with("실패"));
    screen.close().await;
}

pub(super) async fn pictures(screen: &super::screen::Screen, name: &str) {
    for (width, height) in [(390, 844), (1400, 900)] {
        for scheme in ["light", "dark"] {
            screen.shape(width, height, scheme).await;
            screen.picture(&format!("{name}-{width}-{scheme}")).await;
            let wide = screen.value("document.documentElement.scrollWidth - innerWidth").await;
            assert!(wide.as_f64().unwrap() <= 0.0, "{name} at {width}: {wide} px are outside");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_can_be_used_without_a_mouse_and_without_eyes() {
    let mut stage = Stage::start().await;
    stage.begin();
    stage.invite(LINK, VALID);
    let screen = stage.screen().await;
    screen.until("$('#copy')").await;
    stage.results();
    screen.until("$('.error')").await;
    let mut visited = Vec::new();
    for _ in 0..9 {
        screen.press("Tab").await;
        let at = "(({ id, tagName, role }) => id || role || tagName)(document.querySelector('ait-dashboard').shadowRoot.activeElement ?? {})";
        visited.push(screen.value(at).await.as_str().unwrap_or_default().to_owned());
    }
    let order = ["language", "copy", "SUMMARY", "SUMMARY", "region", "region", "region", "SUMMARY", "log"];
    assert_eq!(visited, order, "from top to bottom");

    let tree = screen.call("Accessibility.getFullAXTree", json!({})).await;
    let nodes: Vec<String> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["ignored"] != json!(true))
        .map(|node| {
            format!(
                "{} {}",
                node["role"]["value"].as_str().unwrap_or_default(),
                node["name"]["value"].as_str().unwrap_or_default()
            )
        })
        .collect();
    for node in [
        "image QR code with the attach link",
        "status ",
        "main ",
        "region Phone",
        "region Tests",
        "region Difference",
        "button Copy link",
        "log Console",
        "heading devtools-test",
    ] {
        assert!(nodes.iter().any(|one| one.trim() == node.trim()), "no {node} in\n{}", nodes.join("\n"));
    }
    // A file is closed and stays closed although the run goes on.
    screen.value("[...$('main').querySelectorAll('summary')][1].focus()").await;
    screen.press("Enter").await;
    screen.until("!$('main').querySelectorAll('details')[1].open").await;
    stage.tell(json!({ "type": "notice", "level": "info", "message": "The run goes on." }));
    screen.until("$('.notices').innerText.includes('goes on')").await;
    assert_eq!(screen.value("$('main').querySelectorAll('details')[1].open").await, json!(false));
    screen.close().await;
}
