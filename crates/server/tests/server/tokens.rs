//! Tokens: one suite for both stores.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use taximeter_ledger::{AccountName, Ledger, LedgerId, Location, Options};
use taximeter_service::{Code, NewToken, Role, TokenDocument};
use taximeter_service::{TokenPlace, Tokens};
use tempfile::TempDir;

/// A ledger whose tokens are in a file.
struct TokenStore {
    folder: TempDir,
    location: Location,
    id: LedgerId,
}

impl TokenStore {
    fn with_file() -> TokenStore {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        TokenStore::new(folder, location)
    }

    #[cfg(feature = "server-tests")]
    fn with_postgres() -> TokenStore {
        let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
        TokenStore::new(tempfile::tempdir().unwrap(), Location::Postgres(url))
    }

    fn new(folder: TempDir, location: Location) -> TokenStore {
        let witness = Some(folder.path().join("witness"));
        let ledger = Ledger::open(&location, Options { create: true, witness, ..Options::default() }).unwrap();
        TokenStore { folder, location, id: ledger.id() }
    }

    fn tokens(&self) -> Tokens {
        Tokens::open(&TokenPlace::of(&self.location), self.id).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("taximeter.db.tokens")
    }
}

/// The tests that every store must pass.
macro_rules! in_both_places {
    ($($name:ident)+) => {
        mod in_a_file {
            $(#[test] fn $name() { super::$name(&super::TokenStore::with_file()); })+
        }
        #[cfg(feature = "server-tests")]
        mod in_postgres {
            $(#[test] fn $name() { super::$name(&super::TokenStore::with_postgres()); })+
        }
    };
}

in_both_places! {
    a_token_is_found_by_its_secret_alone
    a_token_ends_when_it_is_revoked_or_expires
    a_clock_that_is_set_back_revives_no_token
    what_one_handle_changes_another_sees_when_it_reads_again
    a_token_is_kept_without_its_secret
    all_tokens_end_at_once
    the_last_handle_may_end_on_a_thread_of_a_runtime
}

fn owner(name: &str) -> NewToken {
    let (accounts, datasets) = (Vec::new(), Vec::new());
    NewToken { principal: name.to_string(), role: Role::Owner, accounts, datasets, sees_above: false, expires: None }
}

fn analyst(name: &str) -> NewToken {
    let accounts = vec![AccountName::parse("census/alice").unwrap()];
    NewToken { role: Role::Analyst, accounts, sees_above: true, ..owner(name) }
}

fn a_token_is_found_by_its_secret_alone(store: &TokenStore) {
    let tokens = store.tokens();
    let one = tokens.create(&analyst("alice")).unwrap();
    let other = tokens.create(&owner("olga")).unwrap();
    for made in [&one, &other] {
        let found = tokens.find(&made.secret).unwrap();
        assert_eq!((&*found, &found.id[..]), (&made.token, &made.secret[4..20]));
    }
    assert_eq!(tokens.list().unwrap(), [one.token.clone(), other.token], "oldest first");
    let swapped = |at: usize| {
        let digit = if &one.secret[at..=at] == "0" { "1" } else { "0" };
        format!("{}{digit}{}", &one.secret[..at], &one.secret[at + 1..])
    };
    for (bad, why) in [
        (String::new(), "nothing"),
        (one.token.id.clone(), "the id"),
        (one.secret.to_uppercase(), "upper case"),
        (one.secret[..84].to_string(), "a digit short"),
        (format!("{}0", one.secret), "a digit long"),
        (format!("{}g", &one.secret[..84]), "not hexadecimal"),
        (swapped(10), "another id"),
        (swapped(21), "another first digit"),
        (swapped(84), "another last digit"),
        (format!("{}{}", &one.secret[..20], &other.secret[20..]), "the secret of another"),
        (format!("{}_{}", &one.secret[..20], "0".repeat(64)), "zeros"),
    ] {
        assert!(tokens.find(&bad).is_none(), "{why}");
    }
}

fn all_tokens_end_at_once(store: &TokenStore) {
    let (tokens, other) = (store.tokens(), store.tokens());
    let made = ["alice", "bob", "carl"].map(|name| tokens.create(&analyst(name)).unwrap());
    let before = tokens.revoke(&made[1].token.id).unwrap();
    assert_eq!(tokens.revoke_all().unwrap(), 2);
    other.reload().unwrap();
    assert!(made.iter().all(|made| tokens.find(&made.secret).is_none() && other.find(&made.secret).is_none()));
    let list = tokens.list().unwrap();
    assert!(list.iter().all(|token| token.revoked.is_some()));
    assert_eq!(list[1], before, "one that was revoked before stays as it was");
    assert_eq!(tokens.revoke_all().unwrap(), 0);
}

/// An expired token was once valid again after the clock was set back.
fn a_clock_that_is_set_back_revives_no_token(store: &TokenStore) {
    let start: Timestamp = "2026-05-01T12:00:00Z".parse().unwrap();
    let hours = |count| start + SignedDuration::from_hours(count);
    let time = Arc::new(Mutex::new(start));
    let open = || {
        let time = Arc::clone(&time);
        Tokens::open_by(&TokenPlace::of(&store.location), store.id, move || *time.lock().unwrap()).unwrap()
    };
    let tokens = open();
    let until = |count| NewToken { expires: Some(hours(count).to_string()), ..owner("olga") };
    let [short, long] = [1, 10].map(|count| tokens.create(&until(count)).unwrap().secret);
    let found = |tokens: &Tokens| [&short, &long].map(|secret| tokens.find(secret).is_some());
    assert_eq!(found(&tokens), [true, true]);
    *time.lock().unwrap() = hours(2);
    assert_eq!(found(&tokens), [false, true]);
    *time.lock().unwrap() = start;
    assert_eq!(found(&tokens), [false, true], "in the same process");
    *time.lock().unwrap() = hours(2);
    tokens.reload().unwrap();
    drop(tokens);
    *time.lock().unwrap() = start;
    let tokens = open();
    assert_eq!(found(&tokens), [false, true], "in another process");
    // Nor one of an issuer.
    let of_issuer = |count| {
        let token = tokens.create(&until(10)).unwrap().token;
        TokenDocument {
            expires: hours(count).to_string(),
            issuer: Some("https://login.example.org".to_string()),
            ..token
        }
    };
    assert_eq!([1, 3].map(|count| tokens.is_valid(&of_issuer(count))), [false, true]);
    // A new token is created at the latest known time.
    let made = tokens.create(&owner("otto")).unwrap().token.created;
    assert_eq!(made.parse::<Timestamp>().unwrap(), hours(2));
}

fn a_token_ends_when_it_is_revoked_or_expires(store: &TokenStore) {
    let tokens = store.tokens();
    let revoked = tokens.create(&owner("olga")).unwrap();
    let document = tokens.revoke(&revoked.token.id).unwrap();
    assert!(document.revoked.is_some());
    assert!(tokens.find(&revoked.secret).is_none());
    assert_eq!(tokens.revoke(&revoked.token.id).unwrap(), document, "the first time counts");
    for id in ["0123456789abcdef", "anonymous", "", revoked.secret.as_str()] {
        let problem = tokens.revoke(id).unwrap_err();
        assert_eq!(problem.code, Code::NotFound);
        assert!(!problem.detail.contains("txm_"), "what is not an id is not repeated: {}", problem.detail);
    }
    let soon = Timestamp::now() + SignedDuration::from_secs(2);
    let expiring = tokens.create(&NewToken { expires: Some(soon.to_string()), ..owner("eve") }).unwrap();
    // On a slow machine it may have expired by now.
    assert!(tokens.find(&expiring.secret).is_some() || Timestamp::now() >= soon);
    while Timestamp::now() < expiring.token.expires.parse().unwrap() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(tokens.find(&expiring.secret).is_none());
    let opened_later = store.tokens();
    for ended in [&revoked, &expiring] {
        assert!(opened_later.find(&ended.secret).is_none());
    }
    assert_eq!(opened_later.list().unwrap(), [document, expiring.token], "what ended is still listed");
}

fn what_one_handle_changes_another_sees_when_it_reads_again(store: &TokenStore) {
    let (server, command) = (store.tokens(), store.tokens());
    let made = command.create(&analyst("alice")).unwrap();
    assert!(command.find(&made.secret).is_some(), "at once here");
    assert!(server.find(&made.secret).is_none(), "not yet there");
    server.reload().unwrap();
    assert!(server.find(&made.secret).is_some());
    command.revoke(&made.token.id).unwrap();
    assert!(command.find(&made.secret).is_none(), "at once here");
    assert!(server.find(&made.secret).is_some(), "not yet there");
    server.reload().unwrap();
    assert!(server.find(&made.secret).is_none());
}

fn a_token_is_kept_without_its_secret(store: &TokenStore) {
    let made = store.tokens().create(&analyst("alice")).unwrap();
    let everything = match &store.location {
        // All files, including the ledger's and SQLite's side files.
        Location::File(_) => {
            let files = std::fs::read_dir(store.folder.path()).unwrap();
            let bytes = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap());
            String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
        }
        #[cfg(feature = "server-tests")]
        Location::Postgres(url) => taximeter_testing::query(url, "SELECT * FROM taximeter.tokens").unwrap(),
        #[cfg(not(feature = "server-tests"))]
        Location::Postgres(_) => unreachable!("there is none"),
    };
    assert!(everything.contains(&made.token.id) && everything.contains("census/alice"), "this is where it is");
    let bits = &made.secret[21..];
    let raw: Vec<u8> = (0..64).step_by(2).map(|at| u8::from_str_radix(&bits[at..at + 2], 16).unwrap()).collect();
    assert!(!everything.contains(bits) && !everything.contains(&bits[..16]));
    assert!(!everything.contains(&*String::from_utf8_lossy(&raw)));
}

fn the_last_handle_may_end_on_a_thread_of_a_runtime(store: &TokenStore) {
    let tokens = store.tokens();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let secret = tokens.create(&owner("olga")).unwrap().secret;
    runtime.block_on(async move {
        // Blocking calls need their own threads.
        let tokens = tokio::task::spawn_blocking(move || tokens.reload().map(|()| tokens)).await.unwrap().unwrap();
        assert!(tokens.find(&secret).is_some());
        drop(tokens);
    });
}

#[test]
fn an_invalid_token_request_is_rejected() {
    let store = TokenStore::with_file();
    let tokens = store.tokens();
    let name = |text: &str| AccountName::parse(text).unwrap();
    let expires = |text: &str| NewToken { expires: Some(text.to_string()), ..owner("olga") };
    let eleven_years = (Timestamp::now() + SignedDuration::from_hours(11 * 366 * 24)).to_string();
    for (new, part) in [
        (owner(""), "is empty"),
        (owner(&"a".repeat(64)), "has 64 characters"),
        (owner("a:b"), "contains ':'"),
        (owner("-a"), "start with a letter"),
        (owner("älice"), "start with a letter"),
        (owner("a b"), "contains ' '"),
        (owner("a\n"), "contains"),
        (NewToken { role: Role::Analyst, ..owner("alice") }, "no account and no dataset"),
        (NewToken { accounts: vec![name("census")], ..owner("olga") }, "the role owner sees every"),
        (
            NewToken { datasets: vec![name("census")], role: Role::Auditor, ..owner("olga") },
            "the role auditor sees every",
        ),
        (NewToken { sees_above: true, ..owner("olga") }, "the role owner sees every"),
        (expires("2020-01-01T00:00:00Z"), "has passed"),
        (expires("tomorrow"), "not a time in UTC"),
        (expires("2027-01-01"), "not a time in UTC"),
        (expires(&eleven_years), "ten years"),
        (
            NewToken { accounts: (0..257).map(|at| name(&format!("a{at}"))).collect(), ..analyst("alice") },
            "more than 256",
        ),
    ] {
        let problem = tokens.create(&new).err().unwrap_or_else(|| panic!("{new:?} was made"));
        assert_eq!(problem.code, Code::BadRequest);
        assert!(problem.detail.contains(part), "{part:?} is not in {:?}", problem.detail);
    }
    assert_eq!(tokens.list().unwrap(), []);
}

#[test]
fn a_token_lasts_ninety_days_unless_it_is_said() {
    let store = TokenStore::with_file();
    let token = store.tokens().create(&owner("olga.p-1_2")).unwrap().token;
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(time(&token.expires).duration_since(time(&token.created)), SignedDuration::from_hours(90 * 24));
    let twice = NewToken { datasets: vec![AccountName::parse("census").unwrap(); 3], ..analyst("alice") };
    assert_eq!(store.tokens().create(&twice).unwrap().token.datasets.len(), 1, "each name once");
}

#[test]
#[cfg(unix)]
fn the_file_is_private_and_beside_the_ledger_also_through_a_link() {
    use std::os::unix::fs::PermissionsExt;
    let store = TokenStore::with_file();
    let link = store.folder.path().join("link.db");
    std::os::unix::fs::symlink(store.folder.path().join("taximeter.db"), &link).unwrap();
    let through_link = Tokens::open(&TokenPlace::of(&Location::File(link)), store.id).unwrap();
    let made = through_link.create(&owner("olga")).unwrap();
    assert!(store.tokens().find(&made.secret).is_some());
    for beside in ["", "-wal", "-shm", ".lock"] {
        let mut path = store.file().into_os_string();
        path.push(beside);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path:?}");
    }
}

#[test]
fn the_tokens_of_another_ledger_and_other_files_are_refused() {
    let (store, other) = (TokenStore::with_file(), TokenStore::with_file());
    let secret = store.tokens().create(&owner("olga")).unwrap().secret;
    drop(store.tokens());
    let open = |id| Tokens::open(&TokenPlace::of(&store.location), id);
    let problem = open(other.id).err().unwrap();
    assert_eq!(problem.code, Code::BadRequest);
    assert!(problem.detail.contains(&other.id.to_string()), "{}", problem.detail);
    assert!(open(store.id).unwrap().find(&secret).is_some(), "nothing was changed");

    for (content, why) in
        [(&b"not a database at all, but long enough to be read as one"[..], "words"), (b"SQLite", "short")]
    {
        std::fs::write(other.file(), content).unwrap();
        let problem = Tokens::open(&TokenPlace::of(&other.location), other.id).err().unwrap();
        assert!(problem.detail.contains("taximeter.db.tokens"), "{why}: {}", problem.detail);
        assert_eq!(std::fs::read(other.file()).unwrap(), content, "{why}: it is left alone");
    }
    // A ledger is a SQLite file too.
    std::fs::copy(other.folder.path().join("taximeter.db"), other.file()).unwrap();
    let problem = Tokens::open(&TokenPlace::of(&other.location), other.id).err().unwrap();
    assert!(problem.detail.contains("not a file of tokens"), "{}", problem.detail);
}

#[cfg(feature = "server-tests")]
#[test]
fn tokens_are_made_found_and_revoked_over_tls() {
    let server = taximeter_testing::PrivatePostgres::start_with_tls().unwrap();
    let plain = server.new_database().unwrap();
    let url = format!("{plain}?sslmode=verify-full&sslrootcert={}", server.root_certificate().display());
    let store = TokenStore::new(tempfile::tempdir().unwrap(), Location::Postgres(url));
    let tokens = store.tokens();
    let made = tokens.create(&owner("olga")).unwrap();
    assert!(tokens.find(&made.secret).is_some());
    tokens.revoke(&made.token.id).unwrap();
    assert!(tokens.find(&made.secret).is_none());
    let encrypted = "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE datname = current_database() AND application_name = 'taximeter'";
    assert_eq!(taximeter_testing::query(&plain, encrypted).unwrap(), "t|1");
}

#[cfg(feature = "server-tests")]
#[test]
fn a_connection_that_was_cut_is_made_again() {
    let store = TokenStore::with_postgres();
    let Location::Postgres(url) = &store.location else { unreachable!("it is in PostgreSQL") };
    let tokens = store.tokens();
    let cut = || {
        let all_others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                          WHERE datname = current_database() AND pid <> pg_backend_pid()";
        taximeter_testing::query(url, all_others).unwrap();
    };
    cut();
    tokens.reload().unwrap();
    cut();
    let made = tokens.create(&owner("olga")).unwrap();
    cut();
    tokens.revoke(&made.token.id).unwrap();
    assert!(tokens.find(&made.secret).is_none());
    // The tokens of an earlier ledger are not valid.
    let other = TokenStore::with_file();
    assert_eq!(Tokens::open(&TokenPlace::of(&store.location), other.id).unwrap().list().unwrap(), []);
}
