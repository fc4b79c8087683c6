//! An agent with a FIDO key (`sk-ssh-ed25519@openssh.com`, `sk-ecdsa-sha2-nistp256@openssh.com`) made in software: the
//! host sees what a real one would send.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::watch,
};

/// The application that OpenSSH's keys are for.
const APPLICATION: &[u8] = b"ssh:";
/// User presence: somebody touched it.
const TOUCHED: u8 = 1;

/// The kinds of security keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityKeyKind {
    /// `sk-ssh-ed25519@openssh.com`
    Ed25519,
    /// `sk-ecdsa-sha2-nistp256@openssh.com`
    EcdsaP256,
}

/// What the owner of a security key does when it blinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Touches it at once.
    AtOnce,
    /// Waits for [`SecurityKeyAgent::touch`].
    WhenTold,
    /// Tells the agent not to.
    Declined,
}

/// A running agent; it ends when dropped. It also lists a key of a kind that nobody knows.
#[derive(Debug)]
pub struct SecurityKeyAgent {
    socket: PathBuf,
    public: String,
    scope: Scope,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    key: SoftKey,
    blob: Vec<u8>,
    touch: Touch,
    touches: watch::Sender<u64>,
    waiting: watch::Sender<usize>,
    counter: AtomicU32,
}

#[derive(Debug)]
enum SoftKey {
    Ed25519(Ed25519KeyPair),
    EcdsaP256(EcdsaKeyPair),
}

impl SoftKey {
    fn generate(kind: SecurityKeyKind) -> io::Result<Self> {
        let random = SystemRandom::new();
        let failed = |_| io::Error::other("could not make a key");
        let rejected = |error: ring::error::KeyRejected| io::Error::other(error.to_string());
        Ok(match kind {
            SecurityKeyKind::Ed25519 => {
                let text = Ed25519KeyPair::generate_pkcs8(&random).map_err(failed)?;
                Self::Ed25519(Ed25519KeyPair::from_pkcs8(text.as_ref()).map_err(rejected)?)
            }
            SecurityKeyKind::EcdsaP256 => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let text = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(failed)?;
                let key = EcdsaKeyPair::from_pkcs8(algorithm, text.as_ref(), &random);
                Self::EcdsaP256(key.map_err(rejected)?)
            }
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "sk-ssh-ed25519@openssh.com",
            Self::EcdsaP256(_) => "sk-ecdsa-sha2-nistp256@openssh.com",
        }
    }

    /// PROTOCOL.u2f, "SSH U2F Key Types".
    fn blob(&self) -> Vec<u8> {
        let mut blob = string(self.name().as_bytes());
        match self {
            Self::Ed25519(key) => blob.extend(string(key.public_key().as_ref())),
            Self::EcdsaP256(key) => {
                blob.extend(string(b"nistp256"));
                blob.extend(string(key.public_key().as_ref()));
            }
        }
        blob.extend(string(APPLICATION));
        blob
    }

    /// PROTOCOL.u2f, "SSH U2F signatures".
    fn sign(&self, data: &[u8], counter: u32) -> Option<Vec<u8>> {
        let mut signed = digest(&SHA256, APPLICATION).as_ref().to_vec();
        signed.push(TOUCHED);
        signed.extend(counter.to_be_bytes());
        signed.extend(digest(&SHA256, data).as_ref());
        let signature = match self {
            Self::Ed25519(key) => key.sign(&signed).as_ref().to_vec(),
            Self::EcdsaP256(key) => {
                let both = key.sign(&SystemRandom::new(), &signed).ok()?;
                let (r, s) = both.as_ref().split_at_checked(32)?;
                [mpint(r), mpint(s)].concat()
            }
        };
        let mut text = string(self.name().as_bytes());
        text.extend(string(&signature));
        text.push(TOUCHED);
        text.extend(counter.to_be_bytes());
        Some(text)
    }
}

impl SecurityKeyAgent {
    /// Starts an agent with a fresh key; its socket is in `folder`.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub async fn start(folder: &Path, kind: SecurityKeyKind, touch: Touch) -> io::Result<Self> {
        let socket = folder.join("security-key.sock");
        let listener = UnixListener::bind(&socket)?;
        let key = SoftKey::generate(kind)?;
        let blob = key.blob();
        let public = format!("{} {}", key.name(), STANDARD.encode(&blob));
        let shared = Arc::new(Shared {
            key,
            blob,
            touch,
            touches: watch::Sender::new(0),
            waiting: watch::Sender::new(0),
            counter: AtomicU32::new(0),
        });
        let scope = Scope::root("security key agent");
        let (token, serving, clients) = (scope.token().clone(), Arc::clone(&shared), scope.clone());
        // Owned by the scope.
        drop(scope.spawn(async move {
            loop {
                let client = tokio::select! {
                    biased;
                    () = token.cancelled() => return,
                    accepted = listener.accept() => match accepted {
                        Ok((client, _)) => client,
                        Err(_) => return,
                    },
                };
                let (token, shared) = (token.clone(), Arc::clone(&serving));
                // Owned by the scope.
                drop(clients.spawn(async move {
                    tokio::select! {
                        biased;
                        () = token.cancelled() => {}
                        // How a client leaves is its own business.
                        ended = shared.serve(client) => drop(ended),
                    }
                }));
            }
        }));
        Ok(Self {
            socket,
            public,
            scope,
            shared,
        })
    }

    /// Gives the socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Gives the public half as it stands in `authorized_keys`.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    /// Touches the key once.
    pub fn touch(&self) {
        self.shared.touches.send_modify(|touches| *touches += 1);
    }

    /// Gives how many clients wait for the key to be touched now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        *self.shared.waiting.borrow()
    }

    /// Gives how many signatures were made.
    #[must_use]
    pub fn signatures(&self) -> u32 {
        self.shared.counter.load(Ordering::SeqCst)
    }
}

impl Drop for SecurityKeyAgent {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

/// Counts one waiting client.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn count(sender: &'a watch::Sender<usize>) -> Self {
        sender.send_modify(|count| *count += 1);
        Self(sender)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Shared {
    /// draft-miller-ssh-agent: 11 is answered by 12, 13 by 14, everything that fails by 5.
    async fn serve(&self, mut client: UnixStream) -> io::Result<()> {
        loop {
            let length = client.read_u32().await?;
            let mut request = vec![0; usize::try_from(length).unwrap_or_default().min(256 * 1024)];
            client.read_exact(&mut request).await?;
            let answer = match request.split_first() {
                Some((11, _)) => self.list(),
                Some((13, rest)) => {
                    if !self.is_touched(&mut client).await? {
                        return Ok(());
                    }
                    self.sign(rest).unwrap_or_else(|| vec![5])
                }
                _ => vec![5],
            };
            client.write_all(&string(&answer)).await?;
        }
    }

    fn list(&self) -> Vec<u8> {
        let mut answer = vec![12, 0, 0, 0, 2];
        let unknown = [string(b"kind-of-the-future"), vec![7; 40]].concat();
        for blob in [&unknown, &self.blob] {
            answer.extend(string(blob));
            answer.extend(string(b"a comment"));
        }
        answer
    }

    /// Waits for the owner. `false` when the client has gone meanwhile.
    async fn is_touched(&self, client: &mut UnixStream) -> io::Result<bool> {
        if self.touch != Touch::WhenTold {
            return Ok(true);
        }
        let mut touches = self.touches.subscribe();
        let _waiting = Waiting::count(&self.waiting);
        let mut byte = [0];
        tokio::select! {
            biased;
            touched = touches.changed() => Ok(touched.is_ok()),
            // A client that says something now has given up, as one that closes has.
            read = client.read(&mut byte) => read.map(|_| false),
        }
    }

    fn sign(&self, request: &[u8]) -> Option<Vec<u8>> {
        let (blob, rest) = take(request)?;
        let (data, _flags) = take(rest)?;
        if blob != self.blob || self.touch == Touch::Declined {
            return None;
        }
        let counter = self.counter.fetch_add(1, Ordering::SeqCst) + 1;
        let signature = self.key.sign(data, counter)?;
        Some([vec![14], string(&signature)].concat())
    }
}

fn take(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = text.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// RFC 4251, section 5.
fn string(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text].concat()
}

/// RFC 4251, section 5: no leading zeros, but one before a set highest bit.
fn mpint(number: &[u8]) -> Vec<u8> {
    let start = number.iter().position(|&byte| byte != 0).unwrap_or(number.len());
    let digits = number.get(start..).unwrap_or_default();
    let sign = digits.first().is_some_and(|&byte| byte >= 0x80);
    let mut text = vec![0; usize::from(sign)];
    text.extend(digits);
    string(&text)
}
