//! Where programs are.

use std::path::{Path, PathBuf};

/// Looks for programs.
pub struct Finder<'a> {
    folders: Vec<PathBuf>,
    is_file: &'a dyn Fn(&Path) -> bool,
}

impl Finder<'static> {
    /// Looks in `search_path`, the value of `PATH`.
    pub fn new(search_path: Option<&str>) -> Self {
        Self::with(search_path, &|path| path.is_file())
    }
}

impl<'a> Finder<'a> {
    /// The same on a file system that is made up.
    pub fn with(search_path: Option<&str>, is_file: &'a dyn Fn(&Path) -> bool) -> Self {
        let folders = search_path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        Self { folders, is_file }
    }

    /// What a person asked for: a path, or a name in `PATH`.
    pub fn asked(&self, asked: &Path) -> Option<PathBuf> {
        let is_name = asked.components().count() == 1;
        // Whoever starts a bare name would look for it in `PATH`.
        let path = (self.is_file)(asked).then(|| if is_name { Path::new(".").join(asked) } else { asked.to_owned() });
        path.or_else(|| is_name.then(|| self.named(asked)).flatten())
    }

    /// The first of these that is there: names in `PATH` go before places.
    pub fn first(&self, names: &[&str], places: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
        let by_name = names.iter().find_map(|name| self.named(Path::new(name)));
        by_name.or_else(|| places.into_iter().find(|path| (self.is_file)(path)))
    }

    fn named(&self, name: &Path) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|path| (self.is_file)(path))
    }
}
