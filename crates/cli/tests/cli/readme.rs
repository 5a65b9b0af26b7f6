//! The documents for those who begin, typed as they stand there.

use taximeter_service::Code;

use crate::typed::TypedSession;

/// The pages of the guide, in the order in which they are read.
const PAGES: [&str; 8] = [
    "1-what-a-privacy-budget-is.md",
    "2-your-first-dataset.md",
    "3-ask-until-it-halts.md",
    "4-a-team.md",
    "5-only-the-ledger.md",
    "6-watching-and-auditing.md",
    "7-choosing-a-rule.md",
    "8-moving-from-adding-up.md",
];

#[test]
fn the_commands_of_the_readme_print_what_it_says() {
    let mut session = TypedSession::new();
    session.run("README.md");
    assert!(!session.typed.is_empty());
}

/// A stranger's path: an empty home, an own file, two analysts, a refused question, and an audit, only by what the guide says to type.
#[test]
fn the_guide_leads_a_stranger_from_a_file_to_an_audit() {
    let mut session = TypedSession::new();
    for page in PAGES {
        session.run(&format!("docs/guide/{page}"));
    }
    let typed = |part: &str, code: i32| {
        assert!(session.typed.iter().any(|(command, exit)| command.contains(part) && *exit == code), "{part}, {code}");
    };
    for (part, code) in [
        ("taximeter dataset add", 0),
        ("--dummy", 0),
        ("taximeter ask", 0),
        ("taximeter ask", 3),
        ("--analyst alice", 0),
        ("--analyst bob", 0),
        ("taximeter --version", 0),
        ("taximeter token create", 0),
        ("taximeter serve", 0),
        ("taximeter charge", 0),
        ("taximeter charge", 6),
        ("taximeter verify", 0),
        ("taximeter history", 0),
        ("taximeter plan", 0),
        ("taximeter report", 0),
        ("spark-submit", 0),
        ("nightly.sh", 6),
    ] {
        typed(part, code);
    }
    // Two analysts, a refused question, and an audit, all through the server and each with a token of their own.
    let team = [
        ("TAXIMETER_CONFIG=~/alice/taximeter.toml", 0),
        ("taximeter ask visits", 0),
        ("taximeter ask visits", 3),
        ("TAXIMETER_TOKEN=$(cat bob-token)\ntaximeter ask visits", 0),
        ("TAXIMETER_TOKEN=$(cat carol-token)\ntaximeter verify", 0),
        ("taximeter export", 0),
    ];
    let mut typed = session.typed.iter();
    for (part, code) in team {
        assert!(typed.any(|(command, exit)| command.contains(part) && *exit == code), "{part}, {code}, in this order");
    }
    assert!(session.typed.len() >= 30, "only {} commands", session.typed.len());
}

/// Pages lead to each other in order, and the index to all of them.
#[test]
fn every_page_leads_to_the_next() {
    let read = |page: &str| std::fs::read_to_string(guide(page)).unwrap();
    let index = read("README.md");
    for (at, page) in PAGES.iter().enumerate() {
        assert!(index.contains(&format!("]({page})")), "{page} is not in the index");
        if let Some(next) = PAGES.get(at + 1) {
            assert!(read(page).contains(&format!("]({next})")), "{page} does not lead to {next}");
        }
        // 200 words a minute, and what is printed is looked at rather than read.
        let words = read(page).split_whitespace().count();
        assert!(words <= 2000, "{page} has {words} words: more than ten minutes");
    }
    for other in ["glossary.md", "errors.md"] {
        assert!(index.contains(&format!("]({other})")), "{other} is not in the index");
    }
}

#[test]
fn the_index_of_errors_has_every_code_once_and_no_other() {
    let text = std::fs::read_to_string(guide("errors.md")).unwrap();
    let heading =
        |line: &str| line.strip_prefix("### `").and_then(|rest| rest.split_once('`')).map(|(code, _)| code.to_string());
    let mut found: Vec<String> = text.lines().filter_map(heading).collect();
    let mut codes: Vec<String> = Code::ALL.iter().map(|code| code.name().to_string()).collect();
    for code in Code::ALL {
        let line = format!("### `{}`, {}: {}", code.name(), code.status(), code.title());
        assert!(text.contains(&line), "{line}");
    }
    found.sort();
    codes.sort();
    assert_eq!(found, codes);
}

/// The messages without a code are those of the program: what stands between their gaps is in one of its files.
#[test]
fn the_index_of_errors_quotes_the_messages_of_the_program() {
    let text = std::fs::read_to_string(guide("errors.md")).unwrap();
    let (_, table) = text.split_once("## Messages without a code").unwrap();
    let quoted = |line: &str| line.strip_prefix("| *")?.split_once("* |").map(|(message, _)| message.to_string());
    let messages: Vec<String> = table.lines().filter_map(quoted).collect();
    assert!(messages.len() >= 5, "{messages:?}");
    let sources = sources();
    for message in messages {
        let pieces = message.split('…').map(|piece| piece.trim_matches(|c: char| !c.is_alphanumeric()));
        let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
        let has_all = |source: &String| pieces.iter().all(|piece| source.contains(piece));
        assert!(sources.iter().any(has_all), "the program does not say {message:?}");
    }
}

/// The code of the program and its libraries, without the breaks in long texts.
fn sources() -> Vec<String> {
    let mut sources = Vec::new();
    let crates = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = crates.read_dir().unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let (text, _) = text.split_once("mod tests {").unwrap_or((&text, ""));
                let mut parts = text.split("\\\n");
                let first = parts.next().unwrap_or_default().to_string();
                sources.push(parts.fold(first, |text, part| text + part.trim_start()));
            }
        }
    }
    sources
}

fn guide(page: &str) -> std::path::PathBuf {
    std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page)
}
