//! `cargo xtask tidy`: what we agreed on and no compiler checks. It is also a test, so that `cargo xtask test` fails where it does.
//!
//! What was not in order when a rule came is listed in `xtask/tidy.txt`: a rule, what it is about, and how many faults there are. The
//! list may only shrink. More faults than it says are errors, and so are fewer: `cargo xtask tidy --lower` then lowers the list.

mod documents;
mod lines;
mod manifests;
mod names;
mod sources;
mod speech;

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::test::workspace_root;

/// The list of what is not in order yet, from the root of the workspace.
const LIST: &str = "xtask/tidy.txt";

/// Something that is not in order.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    rule: &'static str,
    /// What the list counts it under: a file, or the name of a type.
    subject: String,
    /// Where and what.
    text: String,
}

/// Faults by rule and subject.
type Counts = BTreeMap<(String, String), usize>;

/// Checks everything, or lowers the list to what there still is.
pub fn run(arguments: &[String]) -> ExitCode {
    let result = match arguments {
        [] => check(),
        [lower] if lower == "--lower" => lower_list(),
        _ => {
            eprintln!("error: `cargo xtask tidy` takes `--lower` or nothing, not {arguments:?}");
            return ExitCode::from(crate::WRONG_USAGE);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything is as agreed; the error says what is not.
pub fn check() -> Result<(), String> {
    let (faults, listed) = (faults()?, read_list()?);
    let differences = differences(&faults, &listed);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\nerror: ")) }
}

fn lower_list() -> Result<(), String> {
    let (counts, listed) = (count(&faults()?), read_list()?);
    let path = workspace_root().join(LIST);
    std::fs::write(&path, show_list(&lowered(&counts, &listed))).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every fault of the workspace, listed or not.
fn faults() -> Result<Vec<Fault>, String> {
    let sources = sources::all(&workspace_root())?;
    let mut faults = lines::faults(&sources);
    faults.extend(speech::faults(&sources));
    faults.extend(names::faults(&sources));
    faults.extend(documents::faults(&sources));
    faults.extend(manifests::faults(&workspace_root(), &sources));
    Ok(faults)
}

fn count(faults: &[Fault]) -> Counts {
    let mut counts = Counts::new();
    for fault in faults {
        *counts.entry((fault.rule.to_string(), fault.subject.clone())).or_default() += 1;
    }
    counts
}

/// Where the faults and the list differ, in words.
fn differences(faults: &[Fault], listed: &Counts) -> Vec<String> {
    let counts = count(faults);
    let mut differences = Vec::new();
    for (key, found) in &counts {
        let allowed = listed.get(key).copied().unwrap_or_default();
        if *found > allowed {
            let (rule, subject) = key;
            let of_key = faults.iter().filter(|fault| fault.rule == rule && fault.subject == *subject);
            differences.extend(of_key.map(|fault| fault.text.clone()));
            if allowed > 0 {
                differences.push(format!(
                    "{rule} {subject}: {found} of these, and {LIST} has {allowed}, which may only shrink"
                ));
            }
        }
    }
    for ((rule, subject), allowed) in listed {
        let found = counts.get(&(rule.clone(), subject.clone())).copied().unwrap_or_default();
        if found < *allowed {
            differences.push(format!(
                "{rule} {subject}: {LIST} has {allowed}, and only {found} are left; `cargo xtask tidy --lower` removes fixed faults from \
                 the list"
            ));
        }
    }
    differences
}

/// The list with every number brought down to what there is. None goes up, and none is new.
fn lowered(counts: &Counts, listed: &Counts) -> Counts {
    let lower = |(key, allowed): (&(String, String), &usize)| {
        let found = counts.get(key).copied().unwrap_or_default().min(*allowed);
        (found > 0).then(|| (key.clone(), found))
    };
    listed.iter().filter_map(lower).collect()
}

const HEAD: &str =
    "# Known faults, for `cargo xtask tidy`: a rule, its subject, how many faults. The list may only shrink.\n";

fn show_list(list: &Counts) -> String {
    list.iter().fold(HEAD.to_string(), |text, ((rule, subject), count)| text + &format!("{rule} {subject} {count}\n"))
}

fn read_list() -> Result<Counts, String> {
    let path = workspace_root().join(LIST);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_list(&text)
}

fn parse_list(text: &str) -> Result<Counts, String> {
    let entries = text.lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [rule, subject, count] => count.parse().ok().map(|count| ((rule.to_string(), subject.to_string()), count)),
        _ => None,
    };
    entries
        .map(|line| parse(line).ok_or_else(|| format!("{LIST}: {line:?} is not a rule, a subject and a number")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        check().unwrap_or_else(|differences| panic!("error: {differences}"));
    }

    fn fault(subject: &str) -> Fault {
        Fault { rule: "words", subject: subject.to_string(), text: format!("{subject}: a fault") }
    }

    fn check_list(faults: &[&str], list: &str, expected: &[&str], lower: &str) {
        let faults: Vec<Fault> = faults.iter().map(|subject| fault(subject)).collect();
        let listed = parse_list(list).unwrap();
        let found = differences(&faults, &listed);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (difference, part) in found.iter().zip(expected) {
            assert!(difference.contains(part), "{difference}");
        }
        assert_eq!(show_list(&lowered(&count(&faults), &listed)), format!("{HEAD}{lower}"));
    }

    #[test]
    fn the_list_may_only_shrink() {
        check_list(&["a", "a"], "words a 2\n", &[], "words a 2\n");
        check_list(&["a"], "", &["a: a fault"], "");
        check_list(&["a", "a"], "words a 1\n", &["a fault", "a fault", "has 1, which may only shrink"], "words a 1\n");
        check_list(&["a"], "words a 2\nwords b 1\n", &["has 2, and only 1", "has 1, and only 0"], "words a 1\n");
        check_list(&["a"], "lines a 1\n", &["a: a fault", "only 0 are left"], "");
        assert!(parse_list("words a\n").unwrap_err().contains("is not a rule"));
    }
}
