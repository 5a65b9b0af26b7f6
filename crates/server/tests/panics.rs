//! A test of its own, since what happens at a panic is set for the whole process.

use taximeter_service::{Log, LogForm};
use taximeter_testing::Captured;

#[test]
fn the_log_says_where_a_thread_panicked_and_not_what_it_said() {
    let page = Captured::default();
    let log = Log::to(LogForm::Json, page.clone());
    log.tell_panics();
    std::thread::spawn(|| panic!("row 17 has the value 42")).join().unwrap_err();
    drop(log);
    // After the log has ended, a panic is not told, and nothing waits.
    std::thread::spawn(|| panic!("row 18 has the value 43")).join().unwrap_err();
    let _ = std::panic::take_hook();
    let text = page.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("\"event\":\"panic\"") && text.contains("tests/panics.rs:"), "{text}");
    assert!(!text.contains("row") && !text.contains("value"), "{text}");
}
