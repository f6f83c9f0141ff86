//! The tools, one file a family.

mod attach;
mod evaluate;
mod files;
mod lists;
mod look;
mod navigate;
mod pages;
mod picture;
mod results;
mod run;
mod session;
mod wanted;

use super::tool::Tool;

/// All tools, in the order in which they are listed.
pub(super) fn all() -> Vec<Tool> {
    let families = [
        session::tools(),
        attach::tools(),
        pages::tools(),
        run::tools(),
        results::tools(),
        files::tools(),
        evaluate::tools(),
        lists::tools(),
        look::tools(),
        picture::tools(),
        navigate::tools(),
    ];
    families.into_iter().flatten().collect()
}
