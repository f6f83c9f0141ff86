//! `devtools-test secret init`.

use crate::exit::Exit;
use crate::secret::{self, GitIgnore, Initialized, SECRET_FILE, SECRET_VARIABLE};
use crate::settings::{Given, Surroundings, project_root};

use super::output::{error, print};

/// Makes the secret of a project, and says what was made or was there.
pub(super) fn init(given: &Given) -> Exit {
    let around = match Surroundings::of_process() {
        Ok(around) => around,
        Err(reason) => return fail(&reason.to_string(), Exit::Environment),
    };
    let root = match project_root(given, &around) {
        Ok(root) => root.value,
        Err(reason) => return fail(&reason.to_string(), Exit::Usage),
    };
    match secret::init(&root) {
        Ok(done) => {
            let exit = print(&text(&done, around.variable(SECRET_VARIABLE).is_some()), Exit::Passed);
            match unignored(&done.ignored) {
                Some(reason) => fail(&reason, Exit::Environment),
                None => exit,
            }
        }
        Err(reason) => fail(&reason.to_string(), Exit::Environment),
    }
}

fn fail(message: &str, exit: Exit) -> Exit {
    error(message);
    exit
}

fn text(done: &Initialized, variable_is_set: bool) -> String {
    let path = done.path.display();
    let mut text = if done.made {
        format!("Made {path}: a new secret, readable by you alone (mode 600). Build the app with the same one.\n")
    } else {
        format!("{path} holds a secret already, readable by you alone; it was left as it is.\n")
    };
    match &done.ignored {
        GitIgnore::Added(ignore) => text.push_str(&format!("Added {SECRET_FILE} to {}.\n", ignore.display())),
        GitIgnore::NoRepository => text.push_str("This is no git repository, so no .gitignore was touched.\n"),
        GitIgnore::Present | GitIgnore::Failed(..) => {}
    }
    if variable_is_set {
        text.push_str(&format!("{SECRET_VARIABLE} is set and goes over the file.\n"));
    }
    text
}

fn unignored(ignored: &GitIgnore) -> Option<String> {
    let GitIgnore::Failed(path, kind) = ignored else { return None };
    Some(format!(
        "{} cannot be changed ({kind}). Add the line {SECRET_FILE} to it, so that the secret is never committed",
        path.display()
    ))
}
