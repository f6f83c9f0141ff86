//! A real Vite dev server behind the relay: its page is tested, and a file that is edited meanwhile is exchanged in it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::*;

/// A dev server for a small app; killed when dropped.
struct Vite {
    child: Child,
    address: String,
    app: tempfile::TempDir,
}

impl Vite {
    fn start() -> Self {
        let app = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                "index.html",
                "<!doctype html><html><head><title>Vite</title></head><body><p id=part></p><script type=module src=/main.js></script></body></html>",
            ),
            ("main.js", MAIN),
            ("part.js", "export const text = 'one';\n"),
            ("style.css", "#part { color: rgb(255, 0, 0) }\n"),
        ] {
            fs_err::write(app.path().join(name), text).unwrap();
        }
        let vite = support::repo().join("test-runner/node_modules/vite/bin/vite.js");
        let mut command = Command::new("node");
        command.arg(vite).args(["--port", "0", "--clearScreen", "false"]).current_dir(app.path());
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Vite starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line[line.find("http://")?..].trim().to_owned()));
        // It ends when nobody reads what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.expect("Vite says where it listens"), app }
    }

    fn edit(&self, name: &str, text: &str) {
        fs_err::write(self.app.path().join(name), text).unwrap();
    }
}

impl Drop for Vite {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const MAIN: &str = "import './style.css';
import { text } from './part.js';
const show = (text) => { document.querySelector('#part').textContent = text; };
show(text);
import.meta.hot.accept('./part.js', (fresh) => show(fresh.text));
";

/// Says when it waits for an edit, and fails if the document that gets it is another one.
const TEST: &str = "import { expect, it, vi } from 'vitest';
const part = () => document.querySelector('#part');
it('takes edits while it runs', async () => {
  window.here = 1;
  expect(document.head.children[0].getAttribute('src')).toBe('/target.js');
  await vi.waitFor(() => expect(part().textContent).toBe('one'), { timeout: 30000 });
  console.log('edit the script');
  await vi.waitFor(() => expect(part().textContent).toBe('two'), { timeout: 30000 });
  console.log('edit the style');
  await vi.waitFor(() => expect(getComputedStyle(part()).color).toBe('rgb(0, 0, 255)'), { timeout: 30000 });
  expect(window.here).toBe(1);
});
";

fn edited(mut running: Running, vite: &Vite) -> Outcome {
    let said = |what: &'static str| move |line: &str| line.contains(what).then_some(());
    running.wait_for("the first edit", said("edit the script"));
    vite.edit("part.js", "export const text = 'two';\n");
    running.wait_for("the second edit", said("edit the style"));
    vite.edit("style.css", "#part { color: rgb(0, 0, 255) }\n");
    running.wait()
}

fn run(project: &Path, vite: &Vite) -> Tool {
    tool(project, &vite.address).args(["--test-timeout", "100s", "--timeout", "110s", "--reporter", "json"])
}

#[test]
fn a_file_is_exchanged_in_chrome_while_its_page_is_tested() {
    let (vite, project) = (Vite::start(), project(TEST));
    let mut running = run(project.path(), &vite).start();
    let link = running.wait_for("the attach link", link);
    let phone = Phone::open(&link);
    let outcome = edited(running, &vite);
    drop(phone);
    outcome.expect_code(0);
}

#[test]
fn a_file_is_exchanged_in_webkit_while_its_page_is_tested() {
    let (vite, project) = (Vite::start(), project(TEST));
    let outcome = edited(run(project.path(), &vite).args(["--target", "webkit"]).start(), &vite);
    outcome.expect_code(0);
}
