//! The pictures of the README: a run of the built tool, as a person would see it. `scripts/pictures` makes them anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use support::phone::Phone;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

use super::screen::Screen;
use super::tool::dashboard;
use crate::attach_clock::link;
use crate::tool;

/// Orders that a socket tells, and prices that a stream tells.
const ORDERS: usize = 12;

const ORDERS_TEST: &str = r"import { expect, it } from 'vitest';

const socket = new WebSocket('ws://SERVER/orders');
const next = () => new Promise((done) => socket.addEventListener('message', ({ data }) => done(JSON.parse(data)), { once: true }));

it('orders come in as they are placed', async () => {
  await new Promise((done) => socket.addEventListener('open', done));
  socket.send(JSON.stringify({ subscribe: 'orders', since: '2026-01-02' }));
  for (let n = 1; n <= COUNT; n++) expect((await next()).order.id).toBe(1000 + n);
});

it('an order shows its total', () => {
  const order = { id: 1012, items: ['green tea', 'rice cake'], total: '12,500 KRW' };
  expect(order).toEqual({ id: 1012, items: ['green tea', 'rice cake'], total: '₩12,500' });
});
";

const PRICES_TEST: &str = r"import { expect, it } from 'vitest';

it('prices follow the market', async () => {
  const prices = new EventSource('http://SERVER/prices');
  const seen = [];
  await new Promise((done) => prices.addEventListener('price', ({ data }) => seen.push(data) === 5 && done()));
  prices.close();
  expect(seen).toHaveLength(5);
});

it('the market closes', async () => {
  expect((await fetch('http://SERVER/close')).ok).toBe(true);
});
";

/// The server of the app: `/close` answers when it is told to.
async fn serve(listener: TcpListener, closes: watch::Receiver<bool>) {
    while let Ok((stream, _)) = listener.accept().await {
        let closes = closes.clone();
        tokio::spawn(async move {
            let mut head = [0; 2048];
            let read = stream.peek(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            match head.split(' ').nth(1).unwrap_or_default() {
                "/orders" => orders(stream).await,
                "/prices" => prices(stream).await,
                _ => close(stream, closes).await,
            }
        });
    }
}

async fn orders(stream: TcpStream) {
    let mut socket = accept_async(stream).await.unwrap();
    socket.next().await;
    for n in 1..=ORDERS {
        let order = json!({ "order": { "id": 1000 + n, "items": ["green tea", "rice cake"], "total": 6250 * n } });
        socket.send(Message::text(order.to_string())).await.unwrap();
    }
    socket.send(Message::binary(vec![0x82, 0xa5, 0x6f, 0x72, 0x64, 0x65, 0x72, 0x01])).await.unwrap();
    socket.next().await;
}

async fn prices(mut stream: TcpStream) {
    let mut text = answer("text/event-stream", "");
    for n in 0..5 {
        text.push_str(&format!("event: price\nid: {n}\ndata: {{\"tea\":{},\"currency\":\"KRW\"}}\n\n", 6200 + 50 * n));
    }
    stream.write_all(text.as_bytes()).await.unwrap();
    // A stream that ended would be asked for again.
    std::future::pending::<()>().await;
}

async fn close(mut stream: TcpStream, mut closes: watch::Receiver<bool>) {
    let told = closes.wait_for(|closes| *closes).await;
    drop(told);
    drop(stream.write_all(answer("text/plain", "closed").as_bytes()).await);
}

fn answer(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n{body}"
    )
}

fn project(server: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let text = text.replace("SERVER", server).replace("COUNT", &ORDERS.to_string());
        fs_err::write(folder.path().join(name), text).unwrap();
    };
    fs_err::create_dir(folder.path().join("src")).unwrap();
    write("package.json", "{}");
    write("src/orders.ait.test.ts", ORDERS_TEST);
    write("src/prices.ait.test.ts", PRICES_TEST);
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes to docs/; scripts/pictures runs it"]
#[expect(clippy::print_stdout, reason = "for whoever puts it into the README")]
async fn pictures_of_the_readme() {
    let docs: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    fs_err::create_dir_all(&docs).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let project = project(&listener.local_addr().unwrap().to_string());
    let (closes, closed) = watch::channel(false);
    let server = tokio::spawn(serve(listener, closed));

    let args = ["src", "--show-url", "--qr-stdout", "--cell-sdk-line", "2.x", "--cell-platform", "chromium"];
    let mut running = tool(project.path()).args(args).start();
    let (port, path) = dashboard(&mut running);
    let link = running.wait_for("the attach link", link);
    let screen = Screen::open(&format!("http://127.0.0.1:{port}{path}")).await;
    screen.shape(1200, 760, "light").await;
    screen.until("$('#qr') && $('#waiting')").await;
    screen.picture_at(&docs.join("dashboard-waiting.png"), "main").await;

    let phone = Phone::open(&link);
    screen.until("$('#status').innerText.includes('Running') && $('main').querySelectorAll('.line').length > 15").await;
    screen.value("$('.timeline').focus()").await;
    for key in ["Home", "ArrowDown", "ArrowDown"] {
        screen.press(key).await;
    }
    screen.until("$('#message pre')").await;
    screen.value("document.querySelector('ait-dashboard').shadowRoot.activeElement.blur()").await;
    screen.picture_at(&docs.join("timeline.png"), "ait-timeline section").await;
    closes.send_replace(true);
    screen.until("$('#status.bad').innerText.includes('1 test failed')").await;
    screen.shape(1200, 760, "dark").await;
    screen.picture_at(&docs.join("dashboard.png"), "main").await;
    let outcome = running.wait();
    outcome.expect_code(1);
    println!("{}", outcome.stdout.lines().filter(|line| !line.contains("at=")).collect::<Vec<_>>().join("\n"));
    drop(phone);
    server.abort();
    tokio::time::timeout(Duration::from_secs(10), screen.close()).await.unwrap();
}
