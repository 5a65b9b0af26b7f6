//! The examples of the document of questions, typed as they stand there.

use crate::typed::TypedSession;

#[test]
fn the_examples_of_questions_print_what_the_document_says() {
    let mut session = TypedSession::new();
    session.run("docs/questions.md");
    for part in ["--explain", "suggest-bounds", "PERCENTILE_DISC", "WIDTH_BUCKET", "COUNT_IF", "STDDEV"] {
        assert!(session.typed.iter().any(|(command, exit)| command.contains(part) && *exit == 0), "{part}");
    }
}
