//! A cloudflared that opens tunnels from this machine to itself, `fixtures/stand-ins/cloudflared`.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::procs::{self, Process};

/// The stand-in itself; without a folder of its own it is told what to do by the variable `STAND_IN`.
pub fn stand_in() -> PathBuf {
    crate::fixtures().join("stand-ins/cloudflared")
}

/// A stand-in with a plan, a certificate, and a memory of its starts.
#[derive(Debug)]
pub struct StandIn {
    folder: TempDir,
    certificate: Vec<u8>,
}

impl StandIn {
    /// One that does what the words of the plan say, one after the other at each start.
    pub fn new(plan: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("dt-tunnel-").tempdir().unwrap();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["*.trycloudflare.com".into()]).unwrap();
        let write = |name: &str, text: &str| fs_err::write(folder.path().join(name), text).unwrap();
        write("plan", plan);
        write("cert.pem", &cert.pem());
        write("key.pem", &signing_key.serialize_pem());
        symlink(stand_in(), folder.path().join("cloudflared")).unwrap();
        Self { folder, certificate: cert.der().to_vec() }
    }

    /// The program.
    pub fn program(&self) -> PathBuf {
        self.folder.path().join("cloudflared")
    }

    /// The file with its certificate, PEM.
    pub fn certificate_file(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Starts it by itself, before this server: what listens there speaks TLS for it.
    pub fn listen(&self, server: &str) -> Listening {
        let mut command = Command::new(self.program());
        command.args(["tunnel", "--url", server]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the stand-in starts");
        let mut lines =
            BufReader::new(child.stderr.take().expect("standard error is a pipe")).lines().map_while(Result::ok);
        let port = lines.find_map(|line| port_in(&line)).expect("it tells where it listens");
        Listening { child, port, _lines: Box::new(lines) }
    }

    /// Its certificate, DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The process ids of its starts so far.
    pub fn starts(&self) -> Vec<i32> {
        let text = fs_err::read_to_string(self.folder.path().join("starts")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Those that live.
    pub fn living(&self) -> Vec<Process> {
        self.starts().into_iter().filter_map(procs::read).collect()
    }
}

/// A stand-in that listens; killed when dropped.
pub struct Listening {
    child: Child,
    port: u16,
    /// Open as long as it lives.
    _lines: Box<dyn Iterator<Item = String>>,
}

impl Listening {
    /// Where, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The port a tunnel's name leads to.
pub fn port_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("stand-in-")?;
    rest.split('.').next()?.parse().ok()
}
