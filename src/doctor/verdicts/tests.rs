use super::*;

/// One line a check, as a person would read it.
fn shown(checks: impl IntoIterator<Item = Check>) -> String {
    let line = |check: Check| {
        let next = check.next.map(|next| format!("\n    -> {next}")).unwrap_or_default();
        format!("{} {}: {}{next}\n", check.check, check.verdict.word(), check.found)
    };
    checks.into_iter().map(line).collect()
}

fn file() -> FileSeen {
    FileSeen {
        path: "/p/.ait_relay".into(),
        mode: Some(0o600),
        holds_secret: true,
        open: false,
        same: false,
        ignored: Some(true),
    }
}

#[test]
fn secrets() {
    use VariableSeen::{Nonsense, Secret, Unset};
    let odd = FileSeen { holds_secret: false, ..file() };
    let open = FileSeen { mode: Some(0o644), open: true, ..file() };
    let seen = [
        (Unset, Ok(None)),
        (Secret, Ok(None)),
        (Nonsense, Ok(None)),
        (Unset, Ok(Some(file()))),
        (Unset, Ok(Some(FileSeen { mode: None, ignored: None, ..file() }))),
        (Unset, Ok(Some(odd))),
        (Unset, Ok(Some(open.clone()))),
        (Secret, Ok(Some(open))),
        (Unset, Ok(Some(FileSeen { ignored: Some(false), ..file() }))),
        (Secret, Ok(Some(file()))),
        (Secret, Ok(Some(FileSeen { same: true, ..file() }))),
        (Unset, Err("/p/.ait_relay cannot be read (permission denied)".to_owned())),
    ];
    insta::assert_snapshot!(shown(seen.map(|(variable, file)| secret(&SecretSeen { variable, file }))));
}

#[test]
fn clocks() {
    let outside = |ahead| Some(OutsideClock { of: "www.example.com".into(), ahead });
    let seen = [
        (Ok(0), None),
        (Ok(7), None),
        (Err("HTTP 500".to_owned()), None),
        (Ok(-1), outside(Ok(2))),
        (Ok(0), outside(Ok(95))),
        (Ok(0), outside(Ok(-31))),
        (Ok(0), outside(Err("it does not answer".to_owned()))),
    ];
    insta::assert_snapshot!(shown(seen.map(|(relay, outside)| clock(&ClockSeen { relay, outside }))));
}

#[test]
fn ways_from_outside() {
    let works = ProgramSeen::Works { path: "/bin/cloudflared".into(), version: "cloudflared 2099.1".into() };
    let reached = |took: Result<u64, &str>, asked, by_program| Reached::Tried {
        took: took.map(Duration::from_millis).map_err(str::to_owned),
        asked,
        by_program,
    };
    let seen = [
        (works.clone(), Reached::NotTried),
        (works.clone(), reached(Ok(6340), false, true)),
        (works.clone(), reached(Err("Its name is not known."), false, true)),
        (works.clone(), reached(Err("Its name is not known."), true, true)),
        (works.clone(), Reached::Portless),
        (works.clone(), reached(Ok(80), true, false)),
        (works, reached(Err("something else answers there"), true, false)),
        (ProgramSeen::NotFound, Reached::NotTried),
    ];
    insta::assert_snapshot!(shown(seen.iter().map(|(program, reached)| tunnel(program, reached))));
}

#[test]
fn webkits() {
    let driver = ProgramSeen::Works { path: "/bin/WebKitWebDriver".into(), version: "WebKitWebDriver".into() };
    let lacks = |driver: &ProgramSeen, what: &str| WebkitSeen {
        driver: driver.clone(),
        others: Vec::new(),
        lacks: Some(what.to_owned()),
    };
    let seen = [
        WebkitSeen { driver: driver.clone(), others: vec!["/lib/MiniBrowser".into(), "/bin/Xvfb".into()], lacks: None },
        lacks(&driver, "no Xvfb was found. Install it"),
        lacks(&ProgramSeen::NotFound, "no WebKit driver was found"),
    ];
    insta::assert_snapshot!(shown(seen.iter().map(webkit)));
}

#[test]
fn relays() {
    let fine = RelaySeen { right_code: Ok(Duration::from_millis(3)), wrong_code: Ok(4401), agent_bytes: Ok(20_000) };
    let seen = [
        Ok(fine.clone()),
        Err("the relay cannot listen".to_owned()),
        Ok(RelaySeen { right_code: Err("it was closed with 4401".into()), ..fine.clone() }),
        Ok(RelaySeen { wrong_code: Err("it was not turned away".into()), ..fine.clone() }),
        Ok(RelaySeen { wrong_code: Ok(1006), ..fine.clone() }),
        Ok(RelaySeen { agent_bytes: Err("HTTP 404".into()), ..fine }),
    ];
    insta::assert_snapshot!(shown(seen.map(|seen| relay(&seen))));
}

#[test]
fn programs() {
    let path = || PathBuf::from("/x/program");
    let seen = [
        ProgramSeen::Works { path: path(), version: "version 1.2".into() },
        ProgramSeen::Broken { why: "/x/program does not work: exit status 1".into() },
        ProgramSeen::NotThere { path: path(), asked: "--browser" },
        ProgramSeen::NotFound,
    ];
    let alone = |driver: &ProgramSeen| WebkitSeen { driver: driver.clone(), others: Vec::new(), lacks: None };
    insta::assert_snapshot!(shown(
        seen.iter().flat_map(|seen| { [tunnel(seen, &Reached::NotTried), chrome(seen), webkit(&alone(seen))] })
    ));
}

#[test]
fn ports_stdout_and_temp() {
    let written = |text: &str| StdoutSeen { written: Ok(text.as_bytes().to_vec()), forced: None };
    let seen = [
        ports(8317, Some(8317)),
        ports(8317, Some(8320)),
        ports(8317, None),
        stdout(&written("{\"a\":1}\n{}\n")),
        stdout(&written("Welcome!\n{\"a\":1}\n")),
        stdout(&written("\u{1b}[0m{\"a\":1}\n")),
        stdout(&written("")),
        stdout(&StdoutSeen { forced: Some("FORCE_COLOR"), ..written("{}\n") }),
        stdout(&StdoutSeen { written: Err("it did not end".into()), forced: None }),
        temp(Path::new("/tmp"), &Ok(())),
        temp(Path::new("/tmp"), &Err("no space left".into())),
    ];
    insta::assert_snapshot!(shown(seen));
}
