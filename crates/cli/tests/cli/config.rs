//! Settings from flags, the environment and a file; `config show`; completions and manuals.

use std::path::PathBuf;

use crate::sandbox::{Sandbox, check_contains};

/// Writes the configuration where the program looks for it.
fn configure(sandbox: &Sandbox, text: &str) -> PathBuf {
    let folder = sandbox.path("taximeter");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("taximeter.toml"), text).unwrap();
    folder.join("taximeter.toml")
}

/// The value of a setting and where it is from.
fn setting(sandbox: &Sandbox, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let mut command = sandbox.command(&[&["config", "show", "--json"], arguments].concat());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", crate::sandbox::text(&output)));
    let found = document["settings"].as_array().unwrap().iter().find(|one| one["setting"] == name).unwrap();
    let text = |key: &str| found[key].as_str().unwrap_or("none").to_string();
    (text("value"), text("from"))
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let sandbox = Sandbox::new();
    let none = || ("none".to_string(), "none".to_string());
    assert_eq!(setting(&sandbox, "ledger", &[], &[]), none());
    let file =
        configure(&sandbox, "ledger = \"file.db\"\nwitness = \"/elsewhere/w\"\n[defaults]\nepsilon = \"0.01\"\n");
    let from = file.display().to_string();
    let beside = file.with_file_name("file.db").display().to_string();
    let pair = |value: &str, from: &str| (value.to_string(), from.to_string());
    assert_eq!(setting(&sandbox, "ledger", &[], &[]), (beside, from.clone()));
    assert_eq!(setting(&sandbox, "witness", &[], &[]), pair("/elsewhere/w", &from));
    let variable = [("TAXIMETER_LEDGER", "variable.db")];
    assert_eq!(setting(&sandbox, "ledger", &[], &variable), pair("variable.db", "TAXIMETER_LEDGER"));
    assert_eq!(setting(&sandbox, "ledger", &["--ledger", "flag.db"], &variable), pair("flag.db", "--ledger"));
    assert_eq!(setting(&sandbox, "data", &["--data", "d"], &[]), pair("d", "--data"));
    assert_eq!(setting(&sandbox, "server", &[], &[]), none());
    // Another file can be named; then the first is not read.
    std::fs::write(sandbox.path("other.toml"), "ledger = \"postgres://u:secret@db/x\"").unwrap();
    let other = sandbox.path("other.toml").display().to_string();
    let (value, _) = setting(&sandbox, "ledger", &[], &[("TAXIMETER_CONFIG", &other)]);
    assert!(value.contains("db/x") && !value.contains("secret"), "{value}");
    assert_eq!(setting(&sandbox, "witness", &[], &[("TAXIMETER_CONFIG", &other)]), none());
}

#[test]
fn commands_use_what_the_file_says() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "ledger = \"budgets.db\"\n[defaults]\nepsilon = \"0.01\"\n");
    sandbox.add_people();
    assert!(sandbox.path("taximeter/budgets.db").exists() && !sandbox.path("taximeter.db").exists());
    let answer = sandbox.document(0, &["ask", "people", "SELECT COUNT(*) FROM people"]);
    assert_eq!(answer["cost"]["epsilon"], "0.01");
    // A ledger in a flag or a variable overrides a server in the file.
    let ledger = sandbox.path("taximeter/budgets.db").display().to_string();
    configure(&sandbox, "server = \"https://budget.example\"\n");
    sandbox.done(&["account", "list", "--ledger", &ledger]);
    let mut command = sandbox.command(&["account", "list"]);
    assert!(command.env("TAXIMETER_LEDGER", &ledger).output().unwrap().status.success());
    assert!(sandbox.fails(2, &["account", "list"]).contains("token"));
    let shown = sandbox.done(&["config", "show"]);
    check_contains(&shown, &["https://budget.example", "taximeter.toml", "not set"]);
}

#[test]
#[cfg(unix)]
fn a_token_is_read_from_a_file_that_no_other_user_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_people();
    let token = sandbox.token("olga", "owner", &[]);
    let serving = crate::sandbox::Serving::start(&sandbox, &[]);
    let text = format!("server = \"http://{}\"\ntoken_file = \"token\"\n", serving.address);
    let file = configure(&sandbox, &text).with_file_name("token");
    assert!(sandbox.fails(2, &["account", "list"]).contains("cannot be read"));
    std::fs::write(&file, format!("{token}\n")).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(sandbox.fails(2, &["account", "list"]).contains("chmod 600"));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(sandbox.done(&["account", "list"]).contains("people"));
}

#[test]
fn a_wrong_file_is_told_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "leger = \"a.db\"\n");
    for arguments in [["account", "list"], ["config", "show"]] {
        let told = sandbox.fails(2, &arguments);
        check_contains(&told, &["taximeter.toml", "unknown key leger; did you mean ledger?"]);
    }
    let mut command = sandbox.command(&["account", "list"]);
    let output = command.env("TAXIMETER_CONFIG", "nothing.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::sandbox::text(&output).contains("nothing.toml: it cannot be read"));
}

#[test]
fn every_shell_has_completions_and_every_command_a_manual_page() {
    let sandbox = Sandbox::new();
    for (shell, part) in [("bash", "complete -F"), ("zsh", "#compdef taximeter"), ("fish", "complete -c taximeter")] {
        let script = sandbox.done(&["completions", shell]);
        check_contains(&script, &[part, "suggest-bounds", "dummy"]);
    }
    std::fs::create_dir(sandbox.path("man")).unwrap();
    sandbox.done(&["man", "man"]);
    for page in ["taximeter.1", "taximeter-ask.1", "taximeter-dataset-add.1"] {
        let text = std::fs::read_to_string(sandbox.path("man").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    assert!(sandbox.done(&["--version"]).starts_with(&format!("taximeter {}", env!("CARGO_PKG_VERSION"))));
}
