//! Packets survive the way there and back, and no input panics.

use proptest::prelude::*;
use sftp::packet::{Init, Limits, MAX_PACKET, Name, OpenFlags, Owner, Times, Version};
use sftp::{Attributes, Code, Extension, Malformed, Reply, Request, Target};

fn attributes() -> impl Strategy<Value = Attributes> {
    use proptest::option::of;
    let times = any::<(u32, u32)>().prop_map(|(accessed, modified)| Times { accessed, modified });
    let owner = any::<(u32, u32)>().prop_map(|(user, group)| Owner { user, group });
    (of(any::<u64>()), of(owner), of(any::<u32>()), of(times)).prop_map(|(size, owner, mode, times)| {
        Attributes {
            size,
            owner,
            mode,
            times,
        }
    })
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(1u8..=255, 0..40)
}

fn handle() -> impl Strategy<Value = bytes::Bytes> {
    proptest::collection::vec(any::<u8>(), 0..=256).prop_map(bytes::Bytes::from)
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        name().prop_map(Target::Path),
        name().prop_map(Target::Link),
        handle().prop_map(Target::Handle),
    ]
}

fn extension() -> impl Strategy<Value = Extension> {
    let numbers = any::<(u64, u64, u64)>();
    prop_oneof![
        (name(), name()).prop_map(|(from, to)| Extension::PosixRename { from, to }),
        (name(), name()).prop_map(|(from, to)| Extension::HardLink { from, to }),
        handle().prop_map(|handle| Extension::Fsync { handle }),
        name().prop_map(|path| Extension::StatVfs { path }),
        Just(Extension::Limits),
        (handle(), handle(), numbers).prop_map(|(from, to, (from_offset, length, to_offset))| {
            Extension::CopyData {
                from,
                from_offset,
                length,
                to,
                to_offset,
            }
        }),
        name().prop_map(|path| Extension::ExpandPath { path }),
        name().prop_map(|user| Extension::HomeDirectory { user }),
        ("[a-z]{1,9}@example", handle()).prop_map(|(name, data)| Extension::Other { name, data }),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (name(), any::<u32>(), attributes()).prop_map(|(path, flags, attributes)| Request::Open {
            path,
            flags: OpenFlags(flags),
            attributes
        }),
        handle().prop_map(|handle| Request::Close { handle }),
        (handle(), any::<u64>(), any::<u32>()).prop_map(|(handle, offset, length)| Request::Read {
            handle,
            offset,
            length
        }),
        (handle(), any::<u64>(), handle()).prop_map(|(handle, offset, data)| Request::Write {
            handle,
            offset,
            data
        }),
        target().prop_map(|of| Request::Stat { of }),
        (target(), attributes()).prop_map(|(of, attributes)| Request::SetStat { of, attributes }),
        name().prop_map(|path| Request::OpenFolder { path }),
        handle().prop_map(|handle| Request::ReadFolder { handle }),
        (name(), any::<bool>()).prop_map(|(path, folder)| Request::Remove { path, folder }),
        (name(), attributes()).prop_map(|(path, attributes)| Request::MakeFolder { path, attributes }),
        name().prop_map(|path| Request::RealPath { path }),
        name().prop_map(|path| Request::ReadLink { path }),
        (name(), name()).prop_map(|(from, to)| Request::Rename { from, to }),
        (name(), name()).prop_map(|(target, link)| Request::Symlink { target, link }),
        extension().prop_map(Request::Extended),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let names = (name(), name(), attributes()).prop_map(|(name, long, attributes)| Name {
        name,
        long,
        attributes,
    });
    prop_oneof![
        (any::<u32>(), ".{0,20}").prop_map(|(code, message)| Reply::status(Code(code), message)),
        handle().prop_map(Reply::Handle),
        handle().prop_map(Reply::Data),
        proptest::collection::vec(names, 0..8).prop_map(Reply::Names),
        attributes().prop_map(Reply::Attributes),
        handle().prop_map(Reply::Extended),
    ]
}

/// Cuts the length off and checks it.
fn body(packet: &bytes::Bytes) -> bytes::Bytes {
    let length = u32::from_be_bytes(packet[..4].try_into().unwrap());
    assert_eq!(length as usize, packet.len() - 4);
    packet.slice(4..)
}

proptest! {
    #[test]
    fn requests_survive(id: u32, request in request()) {
        prop_assert_eq!(Request::decode(body(&request.encode(id))), Ok((id, request)));
    }

    #[test]
    fn replies_survive(id: u32, reply in reply()) {
        prop_assert_eq!(Reply::decode(body(&reply.encode(id))), Ok((id, reply)));
    }

    #[test]
    fn a_cut_request_is_refused_with_its_number(id: u32, request in request(), at: prop::sample::Index) {
        let whole = body(&request.encode(id));
        let cut = whole.slice(..at.index(whole.len()));
        if let Err(refused) = Request::decode(cut.clone()) {
            prop_assert_eq!(refused.id, (cut.len() >= 5).then_some(id));
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in 0u8..=210) {
        let mut known = vec![kind];
        known.extend_from_slice(&bytes);
        for bytes in [bytes, known] {
            let bytes = bytes::Bytes::from(bytes);
            drop(Request::decode(bytes.clone()));
            drop(Reply::decode(bytes.clone()));
            drop(Init::decode(bytes.clone()));
            drop(Version::decode(bytes.clone()));
            assert!(Limits::decode(bytes.clone()).is_ok() == (bytes.len() >= 32));
        }
    }
}

#[test]
fn a_count_that_cannot_be_allocates_nothing() {
    let mut packet = vec![104, 0, 0, 0, 1];
    packet.extend_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(Reply::decode(packet.into()), Err(Malformed::Number));
}

#[tokio::test]
async fn packets_are_cut_from_a_stream_and_wrong_lengths_are_refused() {
    let packet = Init { version: 3 }.encode();
    let two = [packet.clone(), packet.clone()].concat();
    let mut stream = two.as_slice();
    for _ in 0..2 {
        let one = sftp::packet::read(&mut stream).await.unwrap().unwrap();
        assert_eq!(Init::decode(one), Ok(Init { version: 3 }));
    }
    assert_eq!(sftp::packet::read(&mut stream).await.unwrap(), None);
    let over = u32::try_from(MAX_PACKET).unwrap() + 1;
    for (bytes, kind) in [
        (over.to_be_bytes().to_vec(), std::io::ErrorKind::InvalidData),
        (vec![0; 4], std::io::ErrorKind::InvalidData),
        (b"Welcome to build-7".to_vec(), std::io::ErrorKind::InvalidData),
        (packet[..7].to_vec(), std::io::ErrorKind::UnexpectedEof),
    ] {
        let error = sftp::packet::read(&mut bytes.as_slice()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{bytes:?}");
    }
}
