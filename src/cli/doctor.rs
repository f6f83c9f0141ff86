//! `devtools-test doctor`.

use crate::attach::Reach;
use crate::doctor::{Check, Diagnosis, DoctorOptions, Verdict, WELL_KNOWN_CLOCKS, Way, examine};
use crate::exit::Exit;
use crate::report::{Paint, block, line};
use crate::run::Signal;
use crate::session;
use crate::settings::{Given, Settings, SettingsError, Surroundings, TunnelWish, load};
use crate::webkit::WebkitOptions;

use super::output::{error, print};
use super::signals::Signals;

/// A variable that asks for colours also in pipes.
const FORCE_COLOR: &str = "FORCE_COLOR";
/// A variable that names the tunnel program.
const CLOUDFLARED_BIN: &str = "CLOUDFLARED_BIN";

/// Nobody, as the one to ask for the time.
const NOBODY: &str = "none";

/// What keeps the doctor from looking.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("the operating system refused what a look needs: {0}")]
    System(#[from] std::io::Error),
}

/// Looks at each link of the chain and says how it is.
pub(super) fn doctor(given: Given, json: bool, clock: Option<String>) -> Exit {
    match look(given, json, clock) {
        Ok(exit) => exit,
        Err(failure) => {
            error(&failure.to_string());
            match failure {
                StartError::Settings(error) if !error.is_of_the_machine() => Exit::Usage,
                _ => Exit::Environment,
            }
        }
    }
}

fn look(given: Given, json: bool, clock: Option<String>) -> Result<Exit, StartError> {
    let around = Surroundings::of_process()?;
    let settings = load(given, &around)?;
    let color = settings.look.color;
    let options = options(settings, &around, clock)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let diagnosis = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            diagnosis = examine(&options) => Ok::<_, std::io::Error>(Ok(diagnosis)),
            signal = signals.next() => Ok(Err(signal)),
        }
    })?;
    let diagnosis = match diagnosis {
        Ok(diagnosis) => diagnosis,
        Err(Signal::Interrupt) => return Ok(Exit::Interrupted),
        Err(Signal::Terminate) => return Ok(Exit::Terminated),
    };
    let exit = if diagnosis.verdict == Verdict::Failed { Exit::Environment } else { Exit::Passed };
    Ok(print(&if json { to_json(&diagnosis) } else { text(&diagnosis, Paint(color)) }, exit))
}

fn options(settings: Settings, around: &Surroundings<'_>, clock: Option<String>) -> std::io::Result<DoctorOptions> {
    let clocks = match clock.as_deref() {
        None => WELL_KNOWN_CLOCKS.map(String::from).to_vec(),
        Some(NOBODY) => Vec::new(),
        Some(server) => vec![server.to_owned()],
    };
    let way = way(&settings);
    Ok(DoctorOptions {
        project_root: settings.project_root.value,
        secret: settings.attach.secret,
        browser: settings.target.browser.map(|browser| browser.value),
        no_sandbox: settings.target.no_sandbox,
        search_path: settings.target.search_path.clone(),
        cloudflared: around.variable(CLOUDFLARED_BIN).map(Into::into),
        way,
        clocks,
        webkit: WebkitOptions {
            driver: settings.target.webdriver.map(|driver| driver.value),
            // `--browser` names a Chrome here.
            browser: None,
            search_path: settings.target.search_path,
            has_display: settings.target.has_display,
        },
        program: std::env::current_exe()?,
        forced_colors: around.variable(FORCE_COLOR).map(|_| FORCE_COLOR),
    })
}

/// The way a run would take, where it is one that can be tried from here.
fn way(settings: &Settings) -> Way {
    let tunnel = &settings.attach.tunnel;
    if matches!(tunnel.wish.value, TunnelWish::Address(_)) && tunnel.port == 0 {
        return Way::Portless;
    }
    // Why there is none is told of its program.
    match session::reach(settings) {
        Ok((Reach { tunnel: Some(options), listen, .. }, _)) => {
            Way::Tunnel { tunnel: Box::new(options), listen, asked: tunnel.wish.is_given() }
        }
        _ => Way::None,
    }
}

fn to_json(diagnosis: &Diagnosis) -> String {
    // Nothing in it can fail to be JSON.
    serde_json::to_string_pretty(diagnosis).unwrap_or_default() + "\n"
}

fn text(diagnosis: &Diagnosis, paint: Paint) -> String {
    let mut text = format!("{}\n\n", paint.bold(format!("devtools-test {} doctor", diagnosis.version)));
    for check in &diagnosis.checks {
        text.push_str(&entry(check, paint));
    }
    let count = |verdict| diagnosis.checks.iter().filter(|check| check.verdict == verdict).count();
    let counts = [Verdict::Ok, Verdict::Warning, Verdict::Failed, Verdict::Skipped];
    let counts = counts.map(|verdict| (count(verdict), verdict.word())).into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let last = match diagnosis.verdict {
        Verdict::Failed => paint.red("NOT READY"),
        _ => paint.green("READY"),
    };
    text + &format!("\n{last}  {}\n", counts.join(", "))
}

/// Where what was found begins.
const INDENT: &str = "                    ";

fn entry(check: &Check, paint: Paint) -> String {
    let word = format!("{:<8}", check.verdict.word());
    let word = match check.verdict {
        Verdict::Ok => paint.green(word),
        Verdict::Warning => paint.yellow(word),
        Verdict::Failed => paint.red(word),
        Verdict::Skipped => paint.dim(word),
    };
    let found = block(&check.found).replace('\n', &format!("\n{INDENT}"));
    let mut text = format!("  {word}  {:<8}{found}\n", check.check);
    if let Some(next) = &check.next {
        text.push_str(&format!("{INDENT}{}\n", paint.dim(format!("-> {}", line(next)))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(check: &'static str, verdict: Verdict, found: &str, next: Option<&str>) -> Check {
        Check { check, verdict, found: found.into(), next: next.map(Into::into) }
    }

    fn diagnosis(verdict: Verdict) -> Diagnosis {
        let checks = vec![
            check("secret", Verdict::Ok, "/p/.ait_relay, mode 600", None),
            check("tunnel", Verdict::Warning, "cloudflared was not found", Some("install it")),
            check("chrome", verdict, "it ended:\n  \u{1b}[31mnoise", Some("start it by hand")),
            check("webkit", Verdict::Skipped, "none", None),
        ];
        Diagnosis { version: "1.2.3", verdict: verdict.max(Verdict::Warning), checks }
    }

    #[test]
    fn for_people() {
        insta::assert_snapshot!("people", text(&diagnosis(Verdict::Failed), Paint(false)));
        let ready = text(&diagnosis(Verdict::Ok), Paint(false));
        assert!(ready.ends_with("\nREADY  2 ok, 1 warning, 1 skipped\n"), "{ready}");
        let colored = text(&diagnosis(Verdict::Failed), Paint(true));
        assert!(colored.contains("\u{1b}[31mfailed") && !colored.contains("\u{1b}[31mnoise"), "{colored}");
    }

    #[test]
    fn for_programs() {
        insta::assert_snapshot!("programs", to_json(&diagnosis(Verdict::Failed)));
    }
}
