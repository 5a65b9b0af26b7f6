//! Keys that are no characters, as WebDriver writes them.

use serde_json::{Value, json};

/// To the next element that takes the focus.
pub const TAB: &str = "\u{e004}";
/// The large Enter key.
pub const ENTER: &str = "\u{e007}";
/// Held until the last key.
pub const SHIFT: &str = "\u{e008}";
/// Held until the last key.
pub const CONTROL: &str = "\u{e009}";
/// Erases the character before.
pub const BACKSPACE: &str = "\u{e003}";
/// To the end of the line or page.
pub const END: &str = "\u{e010}";
/// To the beginning of the line or page.
pub const HOME: &str = "\u{e011}";
/// An arrow.
pub const LEFT: &str = "\u{e012}";
/// An arrow.
pub const RIGHT: &str = "\u{e014}";
/// An arrow.
pub const DOWN: &str = "\u{e015}";

/// What a hand does on a keyboard: keys go down and up again, modifiers after all the others.
pub(super) fn strokes(keys: &str) -> Vec<Value> {
    let stroke = |kind: &str, key: char| json!({ "type": kind, "value": key });
    let (mut strokes, mut held) = (Vec::new(), Vec::new());
    for key in keys.chars() {
        strokes.push(stroke("keyDown", key));
        if [SHIFT, CONTROL].iter().any(|modifier| modifier.starts_with(key)) {
            held.push(key);
        } else {
            strokes.push(stroke("keyUp", key));
        }
    }
    strokes.extend(held.into_iter().rev().map(|key| stroke("keyUp", key)));
    strokes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_held_until_the_last_key() {
        for (keys, expected) in [
            ("ab", "↓a ↑a ↓b ↑b"),
            ("", ""),
            (&format!("{SHIFT}ab"), "↓S ↓a ↑a ↓b ↑b ↑S"),
            (&format!("a{CONTROL}{SHIFT}b"), "↓a ↑a ↓C ↓S ↓b ↑b ↑S ↑C"),
        ] {
            let shown: Vec<String> = strokes(keys)
                .iter()
                .map(|stroke| {
                    let arrow = if stroke["type"] == "keyDown" { "↓" } else { "↑" };
                    let key = stroke["value"].as_str().unwrap();
                    format!("{arrow}{}", key.replace(SHIFT, "S").replace(CONTROL, "C"))
                })
                .collect();
            assert_eq!(shown.join(" "), expected);
        }
    }
}
