//! The two paths of a witness, over HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use taximeter_transparency::{
    Checkpoint, CosignRequest, Frontier, KeyUse, NodeHash, NoteSignature, SecretKey, SignedCheckpoint, TrustedKey,
};

use super::*;

/// The status and the body of an answer.
fn post(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: witness\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}

#[test]
fn a_witness_cosigns_and_shows_what_it_cosigned() {
    let folder = tempfile::tempdir().unwrap();
    let (state, key) = (folder.path().join("state"), SecretKey::generate("witness.example", KeyUse::Cosign).unwrap());
    let signer = SecretKey::generate(&Checkpoint::origin_of(&"7".repeat(32)), KeyUse::Sign).unwrap();
    let signers = vec![TrustedKey::parse(&signer.public().to_string()).unwrap()];
    let public = key.public().clone();
    CosigningWitness::create(&state, &public).unwrap();
    let witness = CosigningWitness::open(key, &state, signers).unwrap();
    let runtime = crate::runtime().unwrap();
    let listener = runtime.block_on(WitnessListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))).unwrap();
    let address = listener.address();
    runtime.spawn(async move { listener.serve(witness, || 7, std::future::pending(), |_| {}).await.unwrap() });

    let request = |size: usize| {
        let leaves: Vec<NodeHash> = (0..size).map(|at| NodeHash::leaf(&[at as u8; 32])).collect();
        let (origin, root) = (signer.public().name().to_string(), Frontier::of(&leaves).root());
        let time = "2026-11-18T12:00:00Z".parse().unwrap();
        let checkpoint = Checkpoint { origin, size: size as u64, root, record: [0; 32], time }.sign([&signer]);
        CosignRequest { old: 0, path: Vec::new(), checkpoint }
    };
    let (larger, smaller) = (request(3), request(2));
    assert_eq!(post(address, "/latest-checkpoint", &smaller.checkpoint.to_string()).0, 404);
    let (status, lines) = post(address, "/add-checkpoint", &larger.to_text());
    assert_eq!(status, 200);
    let lines = NoteSignature::parse_lines(&lines).unwrap();
    larger.checkpoint.clone().add_cosignature(&public, &lines).unwrap();
    // A ledger that went back is told how far it was, and shown that it signed that itself.
    assert_eq!(post(address, "/add-checkpoint", &smaller.to_text()), (409, "3\n".to_string()));
    let (status, shown) = post(address, "/latest-checkpoint", &smaller.checkpoint.to_string());
    assert_eq!((status, SignedCheckpoint::parse(&shown).unwrap()), (200, larger.checkpoint));
    assert_eq!(post(address, "/latest-checkpoint", "nonsense").0, 400);
    assert_eq!(post(address, "/", "").0, 404);
}
