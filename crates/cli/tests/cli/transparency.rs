//! Checkpoints and proofs, here and at a server, and what is not taken for one.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, Serving, check_contains};

/// A sandbox with accounts, a charge under the key `monday`, and a signing key; its public key.
fn signing() -> (Sandbox, String) {
    let sandbox = Sandbox::with_accounts();
    sandbox.done(&["charge", "census/alice", "--epsilon", "0.1", "--key", "monday"]);
    let key = sandbox.done(&["checkpoint", "key", "create", "signer.key"]).trim().to_string();
    (sandbox, key)
}

/// The proof of a record, which is also in a file. As text: a record's hash is that of its bytes.
fn proof(sandbox: &Sandbox, record: &str) -> String {
    let text = sandbox.done(&["receipt", "proof", record]);
    fs::write(sandbox.path("proof.json"), &text).unwrap();
    text
}

#[test]
fn a_receipt_is_checked_without_the_ledger() {
    let (sandbox, key) = signing();
    check_contains(&sandbox.fails(2, &["receipt", "proof", "monday"]), &["there is no checkpoint"]);
    check_contains(&sandbox.fails(2, &["checkpoint", "create"]), &["--checkpoint-key"]);
    sandbox.done(&["checkpoint", "create", "--checkpoint-key", "signer.key"]);
    assert_eq!(sandbox.done(&["checkpoint", "key", "show", "signer.key"]).trim(), key);
    let whole = proof(&sandbox, "monday");
    check_contains(&whole, &["\"sequence\":4,\"hash\""]);
    assert_eq!(sandbox.done(&["receipt", "proof", "4"]), whole);
    let elsewhere = Sandbox::new();
    fs::copy(sandbox.path("proof.json"), elsewhere.path("proof.json")).unwrap();
    let check = ["receipt", "check", "proof.json", "--signer", &key];
    check_contains(&elsewhere.done(&check), &["5 records", "4 is in the signed journal, as printed here"]);

    // A charge after the checkpoint is not covered by it.
    sandbox.done(&["charge", "census/bob", "--epsilon", "0.1", "--key", "tuesday"]);
    check_contains(&sandbox.fails(2, &["receipt", "proof", "tuesday"]), &["5 records", "covers only 5 records"]);
    sandbox.done(&["verify"]);

    // A proof for another leaf, a changed record, and a foreign key.
    let other = proof(&sandbox, "3");
    let parts =
        |text: &str| text.split_once(",\"record_hash\"").map(|(receipt, rest)| (receipt.to_string(), rest.to_string()));
    let ((other_receipt, _), (_, rest)) = (parts(&other).unwrap(), parts(&whole).unwrap());
    for (text, why) in [
        (format!("{other_receipt},\"record_hash\"{rest}"), "different hashes"),
        (whole.replace("\"sequence\":4,\"hash\"", "\"sequence\":3,\"hash\""), "not in the tree"),
        (whole.replacen("\"epsilon\":\"0.1\"", "\"epsilon\":\"0.01\"", 1), "was changed"),
    ] {
        assert_ne!(text, whole);
        fs::write(elsewhere.path("proof.json"), text).unwrap();
        check_contains(&elsewhere.fails(4, &check), &[why]);
    }
    // One that was only formatted is not an accusation.
    let formatted = serde_json::from_str::<Value>(&whole).unwrap();
    fs::write(elsewhere.path("proof.json"), format!("{formatted:#}")).unwrap();
    check_contains(&elsewhere.fails(2, &check), &["exactly as it was printed"]);
    let (_other, foreign) = signing();
    fs::write(elsewhere.path("proof.json"), &whole).unwrap();
    check_contains(
        &elsewhere.fails(4, &["receipt", "check", "proof.json", "--signer", &foreign]),
        &["none of the signers"],
    );
    let expired = format!("{key}@..3");
    check_contains(
        &elsewhere.fails(4, &["receipt", "check", "proof.json", "--signer", &expired]),
        &["valid for record 4"],
    );
    fs::write(elsewhere.path("proof.json"), "{}").unwrap();
    elsewhere.fails(2, &check);
}

#[test]
fn two_checkpoints_are_compared_without_the_ledger() {
    let (sandbox, key) = signing();
    let old = sandbox.done(&["checkpoint", "create", "--checkpoint-key", "signer.key"]);
    fs::write(sandbox.path("old.txt"), &old).unwrap();
    sandbox.done(&["charge", "census/bob", "--epsilon", "0.1"]);
    sandbox.done(&["checkpoint", "create", "--checkpoint-key", "signer.key"]);
    fs::write(sandbox.path("new.json"), sandbox.done(&["checkpoint", "proof", "--from", "5"])).unwrap();
    let check = ["checkpoint", "check", "new.json", "--since", "old.txt", "--signer", &key];
    check_contains(&sandbox.done(&check), &["6 records", "extends", "5 records"]);
    sandbox.done(&["export", "--output", "journal.jsonl"]);
    sandbox.done(&["checkpoint", "check", "new.json", "--export", "journal.jsonl", "--signer", &key]);
    fs::write(sandbox.path("new.json"), sandbox.done(&["checkpoint", "proof", "--from", "4"])).unwrap();
    check_contains(&sandbox.fails(2, &check), &["starts at 4 records"]);
    check_contains(&sandbox.fails(2, &["checkpoint", "proof", "--from", "9"]), &["6 records"]);
    // An export that lacks a record, or has another.
    let journal = fs::read_to_string(sandbox.path("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let newest = ["checkpoint", "check", "newest.txt", "--export", "journal.jsonl", "--signer", &key];
    fs::write(sandbox.path("newest.txt"), sandbox.done(&["checkpoint", "show"])).unwrap();
    for lacking in [[&lines[..4], &lines[6..]].concat(), [&lines[..4], &lines[3..4], &lines[5..]].concat()] {
        fs::write(sandbox.path("journal.jsonl"), lacking.join("\n") + "\n").unwrap();
        sandbox.fails(4, &newest);
    }
}

#[test]
fn a_changed_file_of_checkpoints_is_found_by_verification() {
    let (sandbox, _) = signing();
    sandbox.done(&["checkpoint", "create", "--checkpoint-key", "signer.key"]);
    let path = sandbox.path("taximeter.db.checkpoints");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen("\\n5\\n", "\\n4\\n", 1)).unwrap();
    check_contains(&sandbox.fails(4, &["verify"]), &["line 1 of the checkpoints"]);
    // A line that a crash cut off is not there; the next one takes its place.
    sandbox.done(&["ledger", "clear-alarm"]);
    fs::write(&path, format!("{whole}{}", &whole[..40])).unwrap();
    sandbox.done(&["verify"]);
    sandbox.done(&["checkpoint", "create", "--checkpoint-key", "signer.key"]);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    sandbox.done(&["verify"]);
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (sandbox, _) = signing();
    let path = sandbox.path("signer.key");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    check_contains(&sandbox.fails(2, &["checkpoint", "key", "create", "signer.key"]), &["is there already"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    check_contains(&sandbox.fails(2, &["checkpoint", "create", "--checkpoint-key", "signer.key"]), &["chmod 600"]);
}

#[test]
fn a_server_signs_and_gives_analysts_proofs_of_their_own_receipts() {
    let (sandbox, key) = signing();
    let [owner, alice] =
        [("olga", "owner", None), ("alice", "analyst", Some("census/alice"))].map(|(name, role, account)| {
            let more: Vec<&str> = account.iter().flat_map(|account| ["--account", account]).collect();
            sandbox.token(name, role, &more)
        });
    let serving = Serving::start(&sandbox, &["--checkpoint-key", "signer.key"]);
    let run = |token: &str, arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.env("TAXIMETER_SERVER", format!("http://{}", serving.address)).env("TAXIMETER_TOKEN", token);
        command.output().unwrap()
    };
    assert!(run(&alice, &["charge", "census/alice", "--epsilon", "0.1", "--key", "a key & more"]).status.success());
    let proof = run(&alice, &["receipt", "proof", "a key & more"]);
    let text = String::from_utf8(proof.stdout).unwrap();
    fs::write(sandbox.path("alice.json"), &text).unwrap();
    // She may not see what the account above has left: she gets hashes, and the proof holds.
    assert!(text.contains("\"record\":null"), "{text}");
    let checked = sandbox.done(&["receipt", "check", "alice.json", "--signer", &key]);
    check_contains(&checked, &["is in the signed journal; its content is not shown"]);
    assert_eq!(run(&alice, &["receipt", "proof", "0"]).status.code(), Some(2));
    assert_eq!(run(&alice, &["checkpoint", "create"]).status.code(), Some(2));
    let made = run(&owner, &["checkpoint", "create"]);
    check_contains(&String::from_utf8(made.stdout).unwrap(), &["\n6\n"]);
    fs::write(sandbox.path("newest.json"), run(&owner, &["checkpoint", "proof", "--from", "6"]).stdout).unwrap();
    sandbox.done(&["receipt", "check", "alice.json", "--extended-by", "newest.json", "--signer", &key]);
}

#[test]
fn witnesses_need_their_memory_and_flags_are_checked() {
    let (sandbox, key) = signing();
    let create = ["witness", "key", "create", "witness.key", "--name", "w.example", "--state", "witness.state"];
    let witness = sandbox.done(&create).trim().to_string();
    check_contains(&sandbox.fails(2, &create), &["witness.state is there already"]);
    assert_eq!(sandbox.done(&["witness", "key", "show", "witness.key"]).trim(), witness);
    let serve = [
        "witness",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--key",
        "witness.key",
        "--state",
        "witness.state",
        "--signer",
        &key,
    ];
    let whole = fs::read(sandbox.path("witness.state")).unwrap();
    fs::write(sandbox.path("witness.state"), &whole[..whole.len() / 2]).unwrap();
    check_contains(&sandbox.fails(4, &serve), &["damaged, or was cut off", "a new key"]);
    fs::remove_file(sandbox.path("witness.state")).unwrap();
    sandbox.fails(1, &serve);
    let url = format!("http://127.0.0.1:1={witness}");
    for (flags, why) in [
        (vec!["--cosigner", &url], "--checkpoint-key"),
        (vec!["--checkpoint-key", "signer.key", "--cosigner", &witness], "URL=KEY"),
        (
            vec!["--checkpoint-key", "signer.key", "--cosigner", &url, "--require-cosignatures", "2"],
            "there are 1 witnesses",
        ),
        (vec!["--checkpoint-key", "witness.key"], "is not a key of this ledger"),
    ] {
        check_contains(&sandbox.fails(2, &[&["serve", "--listen", "127.0.0.1:0"][..], &flags].concat()), &[why]);
    }
    // A witness that does not answer: it may be an old copy.
    let away = ["serve", "--listen", "127.0.0.1:0", "--checkpoint-key", "signer.key", "--cosigner", &url];
    check_contains(&sandbox.fails(1, &away), &["cannot be opened", "0 of the witnesses cosigned, and 1 must"]);
}
