//! Exit codes, the one table that `--help`, the README and the code share.

/// How a run of the tool ended, as the operating system sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// At least one test ran and all that ran passed.
    Passed,
    /// A test failed, a file could not be loaded, or an error happened outside any test.
    Failed,
    /// The environment failed: no page in time, no Chrome, tunnel down, page lost for good.
    Environment,
    /// Nothing ran: no file matched, or every file was empty.
    NothingRan,
    /// The command line or the configuration is wrong.
    Usage,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    /// Every way to end, in the order of the codes.
    pub const ALL: [Exit; 7] = [
        Exit::Passed,
        Exit::Failed,
        Exit::Environment,
        Exit::NothingRan,
        Exit::Usage,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    /// The process exit status.
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Environment => 2,
            Exit::NothingRan => 4,
            Exit::Usage => 64,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// One line for `--help` and the README.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Passed => "at least one test ran and all that ran passed",
            Exit::Failed => "a test failed, a file could not be loaded, or an error happened outside any test",
            Exit::Environment => "the environment failed: no page attached in time, no Chrome, page lost for good",
            Exit::NothingRan => {
                "nothing ran: no file matched, or every file was empty (--pass-with-no-tests makes it 0)"
            }
            Exit::Usage => "the command line or configuration is wrong",
            Exit::Interrupted => "interrupted (Ctrl-C); what was finished is reported and written",
            Exit::Terminated => "terminated (SIGTERM); what was finished is reported and written",
        }
    }
}
