//! The agent in this process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use link::{AgentLink, LocalLink, Patience};
use stdx::task::Scope;

use crate::daemon::serve_hello;

#[tokio::test]
async fn a_local_agent_is_live_from_the_start() {
    let scope = Scope::root("test");
    let (pipes, agents) = (Arc::<AtomicUsize>::default(), scope.clone());
    let count = Arc::clone(&pipes);
    let connect = move || {
        count.fetch_add(1, Ordering::SeqCst);
        let (near, far) = tokio::io::duplex(64 * 1024);
        agents.spawn(serve_hello(far));
        near
    };
    let link = AgentLink::from(LocalLink::new(connect, &scope));
    assert!(link.states().borrow().is_live());
    assert_eq!((link.host(), pipes.load(Ordering::SeqCst)), (None, 0));
    link.wait_live(Patience::FirstTry).await.unwrap();
    link.agent().hello().await.unwrap();
    link.agent().hello().await.unwrap();
    assert_eq!(pipes.load(Ordering::SeqCst), 1);
    link.close().await;
    assert!(link.agent().hello().await.is_err());
    scope.cancel();
}
