//! Throwaway keys.

use std::{
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use russh::keys::{Algorithm, EcdsaCurve, PrivateKey, key::safe_rng, ssh_key::LineEnding};

/// The kinds of keys that are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Ed25519.
    Ed25519,
    /// ECDSA on the NIST curve P-256.
    EcdsaP256,
    /// RSA with 2048 bits; only [`KeyPair::keygen`] makes it.
    Rsa2048,
}

/// A private key and its public half.
#[derive(Clone, Debug)]
pub struct KeyPair {
    private: PrivateKey,
}

impl KeyPair {
    /// Makes a key without any program.
    ///
    /// # Errors
    /// For [`KeyKind::Rsa2048`], which takes minutes in an unoptimised build.
    pub fn generate(kind: KeyKind) -> io::Result<Self> {
        let algorithm = match kind {
            KeyKind::Ed25519 => Algorithm::Ed25519,
            KeyKind::EcdsaP256 => Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256,
            },
            KeyKind::Rsa2048 => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "RSA keys are made with KeyPair::keygen",
                ));
            }
        };
        Ok(Self {
            private: PrivateKey::random(&mut safe_rng(), algorithm).map_err(io::Error::other)?,
        })
    }

    /// Makes a key file (and its `.pub` file) with OpenSSH's `ssh-keygen`, encrypted if `passphrase` is not empty.
    ///
    /// # Errors
    /// The program is missing or fails.
    pub async fn keygen(file: &Path, kind: KeyKind, passphrase: &str) -> io::Result<String> {
        let kind: &[&str] = match kind {
            KeyKind::Ed25519 => &["-t", "ed25519"],
            KeyKind::EcdsaP256 => &["-t", "ecdsa", "-b", "256"],
            KeyKind::Rsa2048 => &["-t", "rsa", "-b", "2048"],
        };
        let mut command = stdx::process::command("ssh-keygen");
        // A throwaway passphrase: the only way to give one to this program without a terminal is its argument.
        command
            .args(["-q", "-C", "", "-N", passphrase])
            .args(kind)
            .arg("-f")
            .arg(file);
        command.env("PATH", "/usr/bin:/bin").stderr(Stdio::piped());
        let output = command
            .output()
            .await
            .map_err(|error| missing("ssh-keygen", "openssh-client", &error))?;
        if !output.status.success() {
            return Err(io::Error::other(format!(
                "ssh-keygen failed: {}",
                String::from_utf8_lossy(&output.stderr)
            )));
        }
        let mut public = file.as_os_str().to_owned();
        public.push(".pub");
        Ok(std::fs::read_to_string(PathBuf::from(public))?.trim().to_owned())
    }

    /// Signs the `.pub` file of a key with the authority `ca`, by `ssh-keygen -s` with `args` (such as `-n` and
    /// principals). The certificate is `KEY-cert.pub` beside the key.
    ///
    /// # Errors
    /// The program is missing or fails.
    pub async fn certify(ca: &Path, key: &Path, args: &[&str]) -> io::Result<PathBuf> {
        let mut public = key.as_os_str().to_owned();
        public.push(".pub");
        let mut command = stdx::process::command("ssh-keygen");
        command.arg("-q").arg("-s").arg(ca).args(args).arg(public);
        command.env("PATH", "/usr/bin:/bin").stderr(Stdio::piped());
        let output = command
            .output()
            .await
            .map_err(|error| missing("ssh-keygen", "openssh-client", &error))?;
        if !output.status.success() {
            return Err(io::Error::other(format!(
                "ssh-keygen failed: {}",
                String::from_utf8_lossy(&output.stderr)
            )));
        }
        let mut certificate = key.as_os_str().to_owned();
        certificate.push("-cert.pub");
        Ok(certificate.into())
    }

    /// Gives the public half as it stands in `authorized_keys`.
    #[must_use]
    pub fn public(&self) -> String {
        self.private
            .public_key()
            .to_openssh()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// Writes the private key in OpenSSH's format, readable for its owner only.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let text = self
            .private
            .to_openssh(LineEnding::LF)
            .map_err(io::Error::other)?;
        let mut handle = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(file)?;
        handle.write_all(text.as_bytes())
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.private
    }
}

/// Names the package that has a missing program.
pub(crate) fn missing(program: &str, package: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("could not run {program} ({error}); install it: apt-get install {package}"),
    )
}
