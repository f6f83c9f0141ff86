//! The built tool, with browsers of both engines.

use support::server::FixtureServer;

use super::*;

/// Holds in any page that is the sample app behind the relay.
const IN_THE_APP: &str = "import { expect, it } from 'vitest';
it('runs in the app', async () => {
  expect(location.pathname + location.search + location.hash).toBe('/?from=link#/items/1');
  expect(document.title).toBe('Sample mini-app');
  const [first] = document.head.children;
  expect(first.getAttribute('src')).toBe('/target.js');
  expect(document.cookie).toBe('');
  expect(document.querySelector('[data-price]')).not.toBeNull();
  expect(await (await fetch('/api/items')).json()).toHaveLength(2);
});
";

#[test]
fn an_app_that_knows_nothing_of_us_is_tested_in_chrome() {
    let server = FixtureServer::start();
    let project = project(IN_THE_APP);
    let outcome = finished(scanned(tool(project.path(), &server.at("/?from=link#/items/1"))));
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("1 passed"), "{}", outcome.transcript());
}

#[test]
fn an_app_that_knows_nothing_of_us_is_tested_in_webkit() {
    let server = FixtureServer::start();
    let project = project(IN_THE_APP);
    let outcome = tool(project.path(), &server.at("/?from=link#/items/1")).args(["--target", "webkit"]).run();
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("1 passed"), "{}", outcome.transcript());
}
