//! A test of its own, since what happens at a panic is set for the whole process.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use taximeter_server::{Log, LogForm};

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_log_says_where_a_thread_panicked_and_not_what_it_said() {
    let page = Page::default();
    let log = Log::to(LogForm::Json, page.clone());
    log.tell_panics();
    std::thread::spawn(|| panic!("row 17 has the value 42")).join().unwrap_err();
    drop(log);
    // After the log nobody is told, and nothing is waited for.
    std::thread::spawn(|| panic!("row 18 has the value 43")).join().unwrap_err();
    let _ = std::panic::take_hook();
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("\"event\":\"panic\"") && text.contains("tests/panics.rs:"), "{text}");
    assert!(!text.contains("row") && !text.contains("42"), "{text}");
}
