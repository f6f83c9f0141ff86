//! Where the secret comes from.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::{SECRET_FILE, SECRET_VARIABLE, Secret};

/// Longest file that is read: a secret of 64 digits is the rule, and nothing near this is one.
const MAX_FILE: u64 = 4096;
/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// Where a secret came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// [`SECRET_VARIABLE`].
    Environment,
    /// [`SECRET_FILE`].
    File,
    /// Made for this run and kept in memory.
    Made,
}

/// A secret, and what a person should know about it.
#[derive(Clone, Debug)]
pub struct FoundSecret {
    /// The secret.
    pub secret: Secret,
    /// Where it came from.
    pub source: SecretSource,
    /// A warning without values, at most one.
    pub warning: Option<String>,
}

/// Why there is no secret. Never carries a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The variable is set to something else than a secret.
    #[error(
        "{SECRET_VARIABLE} is set but is no secret: it must be hex digits, an even number, 32 or more. Make one with \
         `openssl rand -hex 32`, or unset it"
    )]
    BadVariable,
    /// The file holds something else than a secret.
    #[error(
        "{path} holds no secret: it must be hex digits, an even number, 32 or more. Remove it and run \
         `devtools-test secret init`", path = path.display()
    )]
    BadFile {
        /// Which file.
        path: PathBuf,
    },
    /// Others than its owner may use the file, as ssh refuses a key.
    #[error(
        "{path} is open to others than you (mode {mode:03o}), so its secret is not used. Run `chmod 600 {path}`; where \
         the disk keeps no modes, set {SECRET_VARIABLE} instead", path = path.display()
    )]
    TooOpen {
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file cannot be read.
    #[error("{path} cannot be read ({kind}). Mend its permissions or set {SECRET_VARIABLE}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        kind: ErrorKind,
    },
    /// The file cannot be made.
    #[error("{path} cannot be made ({kind}). Mend the permissions of its folder", path = path.display())]
    Unwritable {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        kind: ErrorKind,
    },
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers, so no secret can be made. Set {SECRET_VARIABLE}")]
    NoRandomness,
}

/// The file of a project, read. Says nothing about whether its secret may be used: see [`SecretFile::usable`].
#[derive(Clone, Debug)]
pub struct SecretFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its permission bits, where the system has some.
    pub mode: Option<u32>,
    secret: Option<Secret>,
}

impl SecretFile {
    /// Reads the file of a project; `None` when there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn read(project_root: &Path) -> Result<Option<Self>, SecretError> {
        let path = file_in(project_root);
        let unreadable = |error: std::io::Error| SecretError::Unreadable { path: path.clone(), kind: error.kind() };
        let file = match std::fs::File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unreadable)?,
        };
        let mode = mode(&file.metadata().map_err(unreadable)?);
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let text = if bytes.len() as u64 > MAX_FILE { None } else { std::str::from_utf8(&bytes).ok() };
        let secret = text.and_then(Secret::from_hex);
        Ok(Some(Self { path, mode, secret }))
    }

    /// Its secret, if it holds one and nobody else can read it.
    ///
    /// # Errors
    /// [`SecretError::BadFile`] or [`SecretError::TooOpen`].
    pub fn usable(&self) -> Result<&Secret, SecretError> {
        let secret = self.secret.as_ref().ok_or_else(|| SecretError::BadFile { path: self.path.clone() })?;
        match self.mode {
            Some(mode) if mode & OTHERS != 0 => Err(SecretError::TooOpen { path: self.path.clone(), mode }),
            _ => Ok(secret),
        }
    }

    /// Whether it holds this very secret, may it be used or not.
    pub fn holds(&self, secret: &Secret) -> bool {
        self.secret.as_ref() == Some(secret)
    }

    /// Whether it holds a secret at all.
    pub fn holds_one(&self) -> bool {
        self.secret.is_some()
    }
}

#[cfg(unix)]
fn mode(metadata: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &std::fs::Metadata) -> Option<u32> {
    None
}

/// Where a project's secret lies: beside the nearest `package.json` from `project_root` upwards, else in it.
pub fn file_in(project_root: &Path) -> PathBuf {
    let folder = project_root.ancestors().find(|dir| dir.join("package.json").is_file()).unwrap_or(project_root);
    folder.join(SECRET_FILE)
}

/// Finds the secret: the variable's value, else the file's, else a new one. Writes nothing.
///
/// # Errors
/// The variable or the file is there and cannot be used.
pub fn find_secret(variable: Option<&str>, project_root: &Path) -> Result<FoundSecret, SecretError> {
    let file = SecretFile::read(project_root);
    if let Some(text) = variable.filter(|text| !text.trim().is_empty()) {
        let secret = Secret::from_hex(text).ok_or(SecretError::BadVariable)?;
        let differs = matches!(&file, Ok(Some(file)) if file.holds_one() && !file.holds(&secret));
        let warning = differs.then(|| {
            format!(
                "{SECRET_VARIABLE} and {SECRET_FILE} hold different secrets; the variable is used. Apps built with the \
                 other one are refused."
            )
        });
        return Ok(FoundSecret { secret, source: SecretSource::Environment, warning });
    }
    let (secret, source) = match file? {
        Some(file) => (file.usable()?.clone(), SecretSource::File),
        None => (Secret::random()?, SecretSource::Made),
    };
    Ok(FoundSecret { secret, source, warning: None })
}
