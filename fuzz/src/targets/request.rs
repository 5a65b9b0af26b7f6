//! The JSON bodies of the API, and the documents that a program reads back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use taximeter_ledger::Key;
use taximeter_service::{
    AnswerDocument, ChargeRequest, CloseRequest, ConsistencyProof, NewAccount, NewAnalyst, NewDataset, NewPublicTable,
    NewToken, QuestionRequest, ReceiptProof,
};
use taximeter_transparency::Trust;

/// The first line is the name of a document, and the rest the document. What is read is written and read back as the same.
pub fn check(data: &[u8]) {
    let Some((name, json)) = super::text(data).and_then(|text| text.split_once('\n')) else { return };
    match name {
        "charge" => {
            if let Some(request) = read_back::<ChargeRequest>(json) {
                let _ = request.charge(Key::parse("key", "k").unwrap());
            }
        }
        "question" => {
            if let Some(request) = read_back::<QuestionRequest>(json) {
                let _ = request.for_gate(Key::parse("key", "k").unwrap(), None, None);
            }
        }
        "account" => {
            if let Some(request) = read_back::<NewAccount>(json) {
                let _ = request.spec(None);
            }
        }
        "dataset" => {
            if let Some(request) = read_back::<NewDataset>(json) {
                let _ = (request.rules(), request.declaration(None), request.timeout());
            }
        }
        "receipt" => {
            if let Some(proof) = read_back::<ReceiptProof>(json) {
                let nobody = Trust { signers: Vec::new(), cosigners: Vec::new(), required: 0 };
                assert!(proof.check(&nobody).is_err());
            }
        }
        "close" => drop(read_back::<CloseRequest>(json)),
        "analyst" => drop(read_back::<NewAnalyst>(json)),
        "public_table" => drop(read_back::<NewPublicTable>(json)),
        "token" => drop(read_back::<NewToken>(json)),
        "consistency" => drop(read_back::<ConsistencyProof>(json)),
        "answer" => drop(read_back::<AnswerDocument>(json)),
        _ => {}
    }
}

/// A document, if it is one.
fn read_back<T: Serialize + DeserializeOwned>(json: &str) -> Option<T> {
    let document: T = serde_json::from_str(json).ok()?;
    let written = serde_json::to_string(&document).unwrap();
    let again: T = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(serde_json::to_string(&again).unwrap(), written);
    Some(document)
}
