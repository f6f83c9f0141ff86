//! What a page, or whoever calls, says of secrets, and what no tool hands on. Drives the built server: every byte of its
//! stdout, its stderr, its log and the files it keeps is looked at, with a tunnel that leads back to this machine, a
//! second Chrome as the phone, and a Chrome of the server's own.

mod rows;

use std::path::Path;

use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::agent::Agent;
use support::cloudflared::StandIn;
use support::phone::{LOADS_AGENT, Phone};
use support::server::FixtureServer;

use super::phone::scan;
use super::{project, server};
use crate::secrecy::around;
use crate::tunnel::dns::Dns;
use rows::rows;

/// Servers that are tried, each with a secret, codes, tickets and a tunnel of its own.
const CASES: u32 = 2;

/// The app that the host app opens reads along what its agent is told.
const READS_ALONG: &str = r#"
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', ({ data }) => { globalThis.HEARD ??= /"ticket":"([^"]+)"/.exec(data)?.[1]; });
  }
};
"#;

/// Says `ALL` wherever a page can: the values stand in the globals of the run.
const SAYS: &str = r#"
const ALL = `said: ${[SECRET, CODE, LINK, HOST, TICKET].join(SEP)}`;
globalThis.ALL = ALL;
it(`said: a title ${ALL}`, async () => {
  document.title = ALL;
  document.body.innerHTML = '<p id="at"></p><button></button><a>link</a>';
  document.querySelector('p').textContent = ALL;
  document.querySelector('button').setAttribute('aria-label', ALL);
  document.querySelector('a').setAttribute('href', `/x?${new URLSearchParams({ ALL, at: CODE })}`);
  console.log(ALL, { [ALL]: [ALL] }, +CODE);
  console.error('said: %s', encodeURIComponent(ALL));
  console.log(`__AIT_CAPTURE__ ${CODE} ${JSON.stringify({ ALL })}`);
  setTimeout(() => { throw new Error(`thrown ${ALL}`); });
  await fetch(`/api/echo?${new URLSearchParams({ ALL })}`, { method: 'POST', body: ALL }).catch(() => {});
  const socket = new WebSocket(SOCKET);
  await new Promise((done) => { socket.onopen = socket.onerror = done; });
  if (socket.readyState === 1) {
    socket.send(ALL);
    socket.send(CODE);
    await new Promise((done) => { socket.onmessage = done; setTimeout(done, 1000); });
  }
  await new Promise((done) => setTimeout(done, 50));
  expect({ [ALL]: ALL, code: CODE }).toEqual({ code: `${CODE}!`, LINK });
});
it('said: a failure', () => { throw new TypeError(ALL, { cause: new Error(ALL) }); });
it('said: a skip', ({ skip }) => { skip(ALL); });
globalThis.__sdk = {
  getLocale: async () => ALL,
  [ALL]: () => ALL,
  fails: () => { setTimeout(() => { throw new Error(ALL); }, 20); throw Object.assign(new Error(ALL), { code: ALL }); },
  SafeAreaInsets: { get: async () => { throw new Error(ALL); } },
};
"#;

/// What must not be read, of one server.
#[derive(Clone, Debug)]
struct Values {
    secret: String,
    code: String,
    host: String,
    link: String,
    ticket: String,
    /// What stands between them.
    between: String,
}

impl Values {
    /// All of them in one text.
    fn all(&self) -> String {
        [&self.secret, &self.code, &self.link, &self.host, &self.ticket].map(String::as_str).join(&self.between)
    }

    fn globals(&self, site: &FixtureServer) -> Value {
        json!({
            "SECRET": self.secret, "CODE": self.code, "LINK": self.link, "HOST": self.host, "TICKET": self.ticket,
            "SEP": self.between, "SOCKET": site.at("/ws/echo").replace("http", "ws"),
        })
    }

    /// Fails if one of them is in a text.
    fn expect_none(&self, name: &str, text: &str) {
        for hidden in [&self.secret, &self.host, &self.ticket] {
            assert!(
                !text.contains(hidden.as_str()),
                "{hidden} in {name}: {}",
                around(text, text.find(hidden.as_str()))
            );
        }
        // In a longer number its digits are no code.
        let digit = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
        let mut codes = text.match_indices(&self.code).map(|(at, _)| at);
        let code = codes.find(|at| !digit(at.checked_sub(1)) && !digit(Some(at + self.code.len())));
        assert!(code.is_none(), "{} in {name}: {}", self.code, around(text, code));
    }
}

/// Calls every tool that the server lists, those that lead to another session last.
fn call_all(agent: &mut Agent, values: &Values) {
    let listed = agent.ask("tools/list", json!({}));
    let listed = agent.answer(listed);
    let mut names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    names.sort_by_key(|name| name.as_str().is_some_and(|name| name.starts_with("start_")));
    let all = values.all();
    for name in &names {
        let name = name.as_str().unwrap();
        let rows = rows(name, &all).unwrap_or_else(|| panic!("{name} has no row in secrets/rows.rs"));
        if name == "handle_dialog" {
            agent.call("evaluate", json!({ "expression": "confirm(ALL)" }));
        }
        for arguments in rows.into_iter().chain([json!({ all.as_str(): 1 })]) {
            agent.call(name, arguments);
        }
    }
}

/// Resources, prompts, and what no client should ask.
fn ask_all(agent: &mut Agent, all: &str) {
    let query: String = url::form_urlencoded::byte_serialize(all.as_bytes()).collect();
    let (mut asked, mut uris) = (Vec::new(), vec![format!("report://{query}"), all.to_owned()]);
    let list = agent.ask("resources/templates/list", json!({}));
    for template in agent.answer(list)["resourceTemplates"].as_array().unwrap() {
        let uri = template["uriTemplate"].as_str().unwrap().split('{').next().unwrap();
        uris.extend(
            ["", "?contains=said", &format!("?contains={query}"), &format!("?{query}=1")].map(|q| format!("{uri}{q}")),
        );
    }
    asked.extend(uris.into_iter().map(|uri| ("resources/read", json!({ "uri": uri }))));
    let list = agent.ask("prompts/list", json!({}));
    for prompt in agent.answer(list)["prompts"].as_array().unwrap() {
        let arguments: serde_json::Map<_, _> = prompt["arguments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|argument| (argument["name"].as_str().unwrap().to_owned(), json!(all)))
            .collect();
        asked.push(("prompts/get", json!({ "name": prompt["name"], "arguments": arguments })));
    }
    asked.extend([
        ("prompts/get", json!({ "name": all })),
        ("tools/call", json!({ "name": all, "arguments": {} })),
        ("tools/call", json!({ "name": all, "arguments": all })),
        (all, json!({ "a": all })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": all }, "argument": { "name": "a", "value": all } }),
        ),
    ]);
    for (method, params) in asked {
        let id = agent.ask(method, params);
        agent.answer(id);
    }
    agent.write(&format!("{{\"{}", all.replace(['"', '\\'], "")));
    agent.notify(all, json!({ "a": all }));
}

/// A run that says everything, and all questions after it.
fn say_and_ask(agent: &mut Agent, values: &Values, site: &FixtureServer) {
    let run = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"], "globals": values.globals(site) }));
    assert_eq!(run["data"]["verdict"], "failed", "{run:#}");
    assert_eq!(run["data"]["tests"], json!({ "passed": 0, "failed": 2, "skipped": 1, "todo": 0 }), "{run:#}");
    // What is hidden was there to be read.
    for tool in ["get_test_failure", "list_console_messages", "list_exceptions", "take_snapshot", "get_dom_document"] {
        let answer = agent.call(tool, json!({})).to_string();
        assert!(answer.contains("said: ***"), "{tool}: {answer}");
    }
    ask_all(agent, &values.all());
    call_all(agent, values);
}

/// A server of which much is known, and everything that it says.
fn one_server(secret: &str, between: &str) {
    let (project, site) = (project(&[("a.ait.test.ts", SAYS)]), FixtureServer::start());
    let (stand_in, dns) = (StandIn::new("good"), Dns::start(0));
    let tool = server(project.path())
        .args([
            "--tunnel",
            "cloudflared",
            "--allow-host",
            "app.test",
            "--report-dir",
            "report",
            "--log-file",
            "log.txt",
        ])
        .env("AIT_DEBUG_TOTP_SECRET", secret)
        .env("DEVTOOLS_TEST_LOG", "trace")
        .env("CLOUDFLARED_BIN", stand_in.program())
        .env("STAND_IN_PORT", "shown")
        .env("SSL_CERT_FILE", stand_in.certificate_file())
        .env("DEVTOOLS_TEST_DNS", dns.address().to_string());
    let mut agent = Agent::start(tool);
    let app =
        site.document(&format!("<script>{READS_ALONG}{LOADS_AGENT}</script>"), "").replace("127.0.0.1", "app.test");
    let shown = agent.call("start_attach", json!({ "scheme_url": app }));
    let link = scan(shown["data"]["dashboard"].as_str().unwrap_or_else(|| panic!("{shown:#}")));
    let phone = open(&link);
    let attached = agent.call("start_attach", json!({ "wait_seconds": 60 }));
    assert_eq!(attached["ok"], true, "{attached:#}");
    let ticket = phone.tap("HEARD").as_str().expect("the app read along").to_owned();
    let asked = url::Url::parse(&link).unwrap();
    let asked = |name: &str| asked.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let host = url::Url::parse(&asked("relay")).unwrap().host_str().unwrap().to_owned();
    let values = Values { secret: secret.into(), code: asked("at"), host, link, ticket, between: between.into() };
    say_and_ask(&mut agent, &values, &site);
    drop(phone);

    let page = site.at("/app/index.html");
    let started = agent.call("start_debug", json!({ "mode": "local-browser", "page_url": page }));
    assert_eq!(started["ok"], true, "{started:#}");
    say_and_ask(&mut agent, &values, &site);

    for (name, text) in files(&agent.running().scratch()) {
        values.expect_none(&name, &text);
    }
    let outcome = agent.close();
    let report = files(&project.path().join("report"));
    assert!(!report.is_empty() && outcome.stdout.matches("said: ***").count() > 20, "{}", outcome.transcript());
    let log = fs_err::read_to_string(project.path().join("log.txt")).unwrap();
    for (name, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr), ("the log", &log)] {
        values.expect_none(name, text);
    }
    for (name, text) in report {
        values.expect_none(&name, &text);
    }
}

/// The phone, to which the app has a name of its own.
fn open(link: &str) -> Phone {
    let relay = support::cloudflared::port_in(link).unwrap();
    let rules = format!("--host-resolver-rules=MAP *.trycloudflare.com 127.0.0.1:{relay},MAP app.test 127.0.0.1");
    Phone::open_with(link, &[rules, "--ignore-certificate-errors".to_owned()])
}

/// Every file of text below a folder that is the server's own, and no browser's.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.contains("chrome") {
            found.extend(files(&path));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            found.push((path.display().to_string(), text));
        }
    }
    found
}

#[test]
fn nothing_that_goes_out_holds_a_secret_a_code_a_ticket_a_host_or_a_link() {
    let config = Config { cases: CASES, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let values = ("([0-9a-f]{2}){16,32}", "[ ,;\"'<>&=\\\\]{1,4}");
    let done = TestRunner::new(config).run(&values, |(secret, between)| {
        one_server(&secret, &between);
        Ok(())
    });
    done.unwrap();
}
