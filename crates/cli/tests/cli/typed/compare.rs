//! Whether what was printed is what a document says.

/// Whether a text is what a pattern says, where `…` stands for anything in a line.
pub fn matches(pattern: &str, text: &str) -> bool {
    pattern.lines().count() == text.lines().count()
        && pattern.lines().zip(text.lines()).all(|(pattern, line)| line_matches(pattern, line))
}

/// A text in which any number, key and width of a column stands for any other: answers have noise.
pub fn without_numbers(text: &str) -> String {
    let word = |word: &str| match word {
        _ if word.contains(|c: char| c.is_ascii_digit()) => "0".to_string(),
        _ => word.replace("──", "─").trim_start_matches('─').to_string(),
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ").trim_end().to_string();
    text.lines().map(|text| line(text) + "\n").collect()
}

/// In a line with a `…` columns need not stand where they do in the other.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((first, others)) = pattern.split_once('…') else { return pattern == line };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = words(line);
    let Some(mut rest) = line.strip_prefix(&words(first)) else { return false };
    for piece in others.split('…').map(words) {
        match rest.split_once(&piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    others.ends_with('…') || others.is_empty() || rest.is_empty()
}

#[test]
fn only_what_is_left_open_may_differ() {
    for (pattern, text, expected) in [
        ("a\nb\n", "a\nb\n", true),
        ("a\nb\n", "a\nc\n", false),
        ("a\n", "a\nb\n", false),
        ("hash …\n", "hash 12ab\n", true),
        ("hash …\n", "key 12ab\n", false),
        ("at … by …, end\n", "at noon by bus, end\n", true),
        ("at … by …, end\n", "at noon by bus, start\n", false),
        ("at … by …, end\n", "at noon by bus, end of day\n", false),
        ("  3  …     x  y\n", "  3  12:00  x  y\n", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern:?} and {text:?}");
    }
}
