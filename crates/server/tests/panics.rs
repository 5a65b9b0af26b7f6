//! A separate binary, since the panic hook is set for the whole process.

use taximeter_service::{Log, LogForm};
use taximeter_testing::Captured;

#[test]
fn the_log_has_the_location_of_a_panic_and_not_its_message() {
    let page = Captured::default();
    let log = Log::to(LogForm::Json, page.clone());
    log.tell_panics();
    std::thread::spawn(|| panic!("row 17 has the value 42")).join().unwrap_err();
    drop(log);
    // After the log has ended, a panic is not logged, and nothing waits.
    std::thread::spawn(|| panic!("row 18 has the value 43")).join().unwrap_err();
    let _ = std::panic::take_hook();
    let text = page.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("\"event\":\"panic\"") && text.contains("tests/panics.rs:"), "{text}");
    assert!(!text.contains("row") && !text.contains("value"), "{text}");
}
