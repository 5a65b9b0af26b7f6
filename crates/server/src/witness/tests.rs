//! The two paths of a witness, over HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Instant;

use taximeter_testing::PATIENCE;
use taximeter_transparency::{
    Checkpoint, CosignRequest, Frontier, KeyUse, NodeHash, NoteSignature, PublicKey, SecretKey, SignedCheckpoint,
    TrustedKey,
};
use tokio::runtime::Runtime;

use super::*;

/// The most connections to a witness here: a test may have few open files.
const FEW: usize = 8;

/// A witness that listens on a free port, and a ledger's key that it knows.
struct ListeningWitness {
    address: SocketAddr,
    signer: SecretKey,
    public: PublicKey,
    _serves: (tempfile::TempDir, Runtime),
}

impl ListeningWitness {
    fn start() -> ListeningWitness {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let key = SecretKey::generate("witness.example", KeyUse::Cosign).unwrap();
        let signer = SecretKey::generate(&Checkpoint::origin_of(&"7".repeat(32)), KeyUse::Sign).unwrap();
        let signers = vec![TrustedKey::parse(&signer.public().to_string()).unwrap()];
        let public = key.public().clone();
        CosigningWitness::create(&state, &public).unwrap();
        let witness = CosigningWitness::open(key, &state, signers).unwrap();
        let runtime = crate::runtime().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = runtime.block_on(WitnessListener::bind(address)).unwrap();
        let listener = WitnessListener { connections: FEW, ..listener };
        let address = listener.address();
        runtime.spawn(async move { listener.serve(witness, || 7, std::future::pending(), |_| {}).await.unwrap() });
        ListeningWitness { address, signer, public, _serves: (folder, runtime) }
    }
}

/// A connection, whose reads end.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn head(path: &str, body: &str, more: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: witness\r\n{more}content-length: {}\r\n\r\n", body.len())
}

/// The status and the body of an answer.
fn post(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut stream = connect(address);
    stream.write_all((head(path, body, "connection: close\r\n") + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}

/// A request about the first records of a ledger.
fn request(signer: &SecretKey, size: usize) -> CosignRequest {
    let leaves: Vec<NodeHash> = (0..size).map(|at| NodeHash::leaf(&[at as u8; 32])).collect();
    let (origin, root) = (signer.public().name().to_string(), Frontier::of(&leaves).root());
    let time = "2026-11-18T12:00:00Z".parse().unwrap();
    let checkpoint = Checkpoint { origin, size: size as u64, root, record: [0; 32], time }.sign([signer]);
    CosignRequest { old: 0, path: Vec::new(), checkpoint }
}

#[test]
fn a_witness_cosigns_and_shows_what_it_cosigned() {
    let ListeningWitness { address, signer, public, _serves } = ListeningWitness::start();
    let (larger, smaller) = (request(&signer, 3), request(&signer, 2));
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

/// Complete heads whose bodies never came once held all connections for good, and the ledgers of the witness stopped.
#[test]
fn requests_without_their_bodies_make_room_for_others() {
    let witness = ListeningWitness::start();
    let head = head("/add-checkpoint", "never sent", "");
    let mut held: Vec<TcpStream> = (0..FEW).map(|_| connect(witness.address)).collect();
    held.iter_mut().for_each(|stream| stream.write_all(head.as_bytes()).unwrap());
    assert_eq!(post(witness.address, "/latest-checkpoint", "nonsense").0, 400);
    assert_eq!(held[0].read(&mut [0; 64]).unwrap(), 0, "the oldest made room");
    assert_eq!(post(witness.address, "/add-checkpoint", &"x".repeat(LARGEST_BODY + 1)).0, 413);
}

/// Connections without any request held all places for a minute, and did it again.
#[test]
fn silent_connections_end_soon_and_make_room_and_those_of_ledgers_stay() {
    let witness = ListeningWitness::start();
    let mut ledger = connect(witness.address);
    let mut ask = |body: &str| {
        ledger.write_all((head("/latest-checkpoint", body, "") + body).as_bytes()).unwrap();
        let (mut answer, mut line) = (String::new(), [0; 1]);
        while !answer.ends_with("\r\n\r\n") {
            ledger.read_exact(&mut line).unwrap();
            answer.push(char::from(line[0]));
        }
        let length = answer.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap();
        ledger.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
        answer.split(' ').nth(1).unwrap().to_string()
    };
    let request = request(&witness.signer, 3);
    assert_eq!(post(witness.address, "/add-checkpoint", &request.to_text()).0, 200);
    assert_eq!(ask(&request.checkpoint.to_string()), "200");
    let mut silent: Vec<TcpStream> = (0..FEW).map(|_| connect(witness.address)).collect();
    let started = Instant::now();
    assert_eq!(post(witness.address, "/latest-checkpoint", "nonsense").0, 400);
    assert!(started.elapsed() < ARRIVAL, "there was no room for {:?}", started.elapsed());
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0; 64]).unwrap(), 0);
    }
    assert!(started.elapsed() < IDLE / 2, "they stayed for {:?}", started.elapsed());
    assert_eq!(ask(&request.checkpoint.to_string()), "200");
}
