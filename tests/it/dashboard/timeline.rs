//! The timeline of what the page exchanged: a hundred thousand messages are a list like any other.

use serde_json::{Value, json};

use super::page::pictures;
use super::screen::{Screen, Stage};

/// Lines that may be drawn at a time, whatever there is.
const MAX_DRAWN: u64 = 80;
/// Main-thread milliseconds that a scroll to another place may cost. A frame has 16; this machine may be busy.
const SCROLL_COST: f64 = 60.0;
const TESTS: [&str; 2] = ["src/a.ait.test.ts > orders > come in", "src/a.ait.test.ts > orders > go out"];

fn connection(n: usize, protocol: &str, url: &str) -> Value {
    json!({ "kind": "connection", "id": format!("c{n}"), "protocol": protocol, "url": url, "state": "open" })
}

fn message(n: usize, payload: &Value, more: &Value) -> Value {
    let preview: String = payload.as_str().unwrap_or("[binary 5 bytes]").chars().take(100).collect();
    let mut record = json!({ "kind": "message", "id": format!("m{n}"), "connectionId": "c0", "protocol": "websocket",
        "direction": "in", "type": "text", "size": 1234, "payload": payload, "payloadPreview": preview,
        "wallTime": 1_790_000_000_000.0_f64 + n as f64 });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn tell(stage: &mut Stage, records: &[Value]) {
    stage.tell(json!({ "type": "transport", "records": records }));
}

/// A little of everything.
fn mixed(stage: &mut Stage) {
    let bytes = json!({ "type": "array-buffer", "byteLength": 5, "base64": "SGVsbG8=" });
    tell(
        stage,
        &[
            connection(0, "websocket", "wss://api.mini-app.example/orders"),
            connection(1, "eventsource", "https://api.mini-app.example/prices?currency=KRW"),
            connection(2, "fetch-stream", "https://api.mini-app.example/answers"),
            message(0, &json!("{\"subscribe\":[\"orders\"]}"), &json!({ "direction": "out", "test": TESTS[0] })),
            message(
                1,
                &json!("{\"order\":{\"id\":9007199254740993,\"price\":1.10,\"items\":[\"<b>tea</b>\"]}}"),
                &json!({ "test": TESTS[0] }),
            ),
            message(2, &bytes, &json!({ "type": "binary", "size": 5, "test": TESTS[1] })),
            message(3, &json!("price 12.50"), &json!({ "connectionId": "c1", "type": "price", "test": TESTS[1] })),
            message(4, &json!(format!("{}needle", "x".repeat(300))), &json!({ "connectionId": "c2", "type": "chunk" })),
            json!({ "kind": "gap", "messages": 3 }),
        ],
    );
}

async fn shown(screen: &Screen) -> Vec<String> {
    let lines = screen.value("[...$('main').querySelectorAll('.line .preview')].map((line) => line.innerText)").await;
    serde_json::from_value(lines).unwrap()
}

async fn choose(screen: &Screen, select: &str, value: &str) {
    let code = format!("{{ const s = $('{select}'); s.value = '{value}'; s.dispatchEvent(new Event('change')); }}");
    screen.value(&format!("(() => {code})()")).await;
}

async fn search(screen: &Screen, text: &str) {
    let code = format!("{{ const s = $('#search'); s.value = '{text}'; s.dispatchEvent(new Event('input')); }}");
    screen.value(&format!("(() => {code})()")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_filtered_searched_and_opened() {
    let mut stage = Stage::start().await;
    stage.begin();
    stage.attach();
    let screen = stage.screen().await;
    assert_eq!(screen.text("ait-timeline").await, "", "nothing is there before something is recorded");
    mixed(&mut stage);
    screen.until("$('main').querySelectorAll('.line').length === 5").await;
    assert!(screen.text("#timeline-counts").await.contains("3 were lost"));
    assert!(screen.text("#transport").await.contains("5 messages"));

    choose(&screen, "#direction", "out").await;
    screen.until("$('main').querySelectorAll('.line').length === 1").await;
    choose(&screen, "#direction", "").await;
    choose(&screen, "#protocol", "eventsource").await;
    screen.until("$('main').querySelectorAll('.line').length === 1").await;
    assert_eq!(shown(&screen).await, ["price 12.50"]);
    choose(&screen, "#protocol", "").await;
    choose(&screen, "#connection", "2").await;
    screen.until("$('main').querySelectorAll('.line').length === 1").await;
    choose(&screen, "#connection", "").await;

    search(&screen, "NEEDLE").await;
    screen.until("$('main').querySelectorAll('.line').length === 1").await;
    assert!(shown(&screen).await[0].starts_with("xxx"), "it is found beyond the preview");
    assert!(screen.text("#timeline-counts").await.contains("1 shown"));
    tell(&mut stage, &[message(5, &json!("another needle"), &json!({}))]);
    screen.until("$('main').querySelectorAll('.line').length === 2").await;
    search(&screen, "").await;
    screen.until("$('main').querySelectorAll('.line').length === 6").await;

    // By keyboard: the first, the second, and what is in it.
    screen.value("$('.timeline').focus()").await;
    screen.press("Home").await;
    screen.press("ArrowDown").await;
    screen.until("$('#message pre')").await;
    let detail = screen.text("#message").await;
    for part in [
        "\"id\": 9007199254740993,\n",
        "\"price\": 1.10",
        "<b>tea</b>",
        TESTS[0],
        "wss://api.mini-app.example/orders",
        "received",
    ] {
        assert!(detail.contains(part), "{part} is missing in\n{detail}");
    }
    assert_eq!(screen.value("$('.timeline').getAttribute('aria-activedescendant')").await, json!("m1"));
    screen.press("ArrowDown").await;
    screen
        .until(
            "$('#message pre').innerText.includes('48 65 6c 6c 6f') && $('#message pre').innerText.includes('Hello')",
        )
        .await;
    screen.value("$('#message button').click()").await;
    screen.until("$('main').querySelectorAll('.line').length === 2 && $('#any-test')").await;
    screen.value("$('#any-test').click()").await;
    screen.until("$('main').querySelectorAll('.line').length === 6").await;
    pictures(&screen, "timeline").await;
    assert_eq!(screen.value("forbidden").await, json!([]), "the page's policy allows all it does");
    screen.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_messages_stay_smooth() {
    const MANY: usize = 100_000;
    let mut stage = Stage::start().await;
    stage.begin();
    stage.attach();
    let screen = stage.screen().await;
    tell(&mut stage, &[connection(0, "websocket", "wss://h/")]);
    for batch in 0..MANY / 1000 {
        let records: Vec<Value> = (0..1000)
            .map(|n| message(batch * 1000 + n, &json!(format!("tick {}", batch * 1000 + n)), &json!({})))
            .collect();
        tell(&mut stage, &records);
    }
    screen.until("$('#transport').innerText.includes('100,000 messages') && $('ait-timeline').messages.rows.length === 100000").await;
    screen.until("$('main').querySelector('.line:last-child .preview')?.innerText === 'tick 99999'").await;
    let drawn = screen.value("$('main').querySelectorAll('.line').length").await.as_u64().unwrap();
    assert!(drawn > 5 && drawn < MAX_DRAWN, "{drawn} lines are drawn");

    let cost = "new Promise((done) => { const list = $('.timeline'); let left = 40; let busy = 0; const step = () => { \
        const since = performance.now(); list.scrollTop = list.scrollHeight * left / 40; list.getBoundingClientRect(); \
        requestAnimationFrame(() => { busy += performance.now() - since; if (--left) step(); else done(busy / 40); }); \
        }; step(); })";
    let cost = screen.value(cost).await.as_f64().unwrap();
    assert!(cost < SCROLL_COST, "{cost} ms for a scroll");
    screen.until("$('main').querySelector('.line .preview').innerText.startsWith('tick ')").await;
    search(&screen, "tick 4242").await;
    screen.until("$('#timeline-counts').innerText.includes('11 shown')").await;
    let drawn = screen.value("$('main').querySelectorAll('.line').length").await.as_u64().unwrap();
    assert!(drawn < MAX_DRAWN, "{drawn} lines are drawn");
    screen.close().await;
}
