//! The problems that a path may answer with, for the OpenAPI document.

use std::collections::BTreeMap;

use taximeter_service::{Code, Problem};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// The problem responses of a path: one per status, with its possible codes. `KINDS` says what the path needs, and so what may be wrong.
pub(crate) struct ProblemResponses<const KINDS: u16>;

/// Any path.
const ANY: u16 = 0;
/// It needs a token.
const TOKEN: u16 = 1;
/// It has parameters in its path, its query or a header.
const INPUT: u16 = 1 << 1;
/// It has a body.
const BODY: u16 = 1 << 2;
/// It is about an account.
const ACCOUNT: u16 = 1 << 3;
/// It is about a dataset.
const DATASET: u16 = 1 << 4;
/// It is about a record, a token or an upload.
const RECORD: u16 = 1 << 5;
/// It charges.
const CHARGE: u16 = 1 << 6;
/// It asks the data.
const ANSWER: u16 = 1 << 7;
/// It shows a receipt.
const RECEIPT: u16 = 1 << 8;

/// A public path.
pub(crate) type PublicProblems = ProblemResponses<ANY>;
/// A path that needs only a token.
pub(crate) type TokenProblems = ProblemResponses<TOKEN>;
/// A path with parameters.
pub(crate) type InputProblems = ProblemResponses<{ TOKEN | INPUT }>;
/// A path with an account in it.
pub(crate) type AccountProblems = ProblemResponses<{ TOKEN | INPUT | ACCOUNT }>;
/// A path with an account in its body.
pub(crate) type AccountBodyProblems = ProblemResponses<{ TOKEN | BODY | ACCOUNT }>;
/// A path with a dataset in it.
pub(crate) type DatasetProblems = ProblemResponses<{ TOKEN | INPUT | DATASET | ACCOUNT }>;
/// A path with a dataset in its body.
pub(crate) type DatasetBodyProblems = ProblemResponses<{ TOKEN | BODY | DATASET | ACCOUNT }>;
/// A path that registers data.
pub(crate) type RegistrationProblems = ProblemResponses<{ TOKEN | BODY | DATASET | ACCOUNT | RECORD }>;
/// A path with a record or a token in it.
pub(crate) type RecordProblems = ProblemResponses<{ TOKEN | INPUT | RECORD }>;
/// A path with the record of a receipt in it.
pub(crate) type ReceiptProblems = ProblemResponses<{ TOKEN | INPUT | RECORD | RECEIPT }>;
/// A path about a record that is not named.
pub(crate) type TokenRecordProblems = ProblemResponses<{ TOKEN | RECORD }>;
/// A path with a body.
pub(crate) type BodyProblems = ProblemResponses<{ TOKEN | BODY }>;
/// A charge.
pub(crate) type ChargeProblems = ProblemResponses<{ TOKEN | BODY | ACCOUNT | CHARGE }>;
/// A question.
pub(crate) type QuestionProblems = ProblemResponses<{ TOKEN | BODY | ACCOUNT | DATASET | CHARGE | ANSWER }>;

/// The codes of each need.
const CODES: &[(u16, &[Code])] = &[
    (TOKEN, &[Code::Unauthorized, Code::Forbidden, Code::TooManyRequests]),
    (INPUT | BODY, &[Code::BadRequest]),
    (BODY, &[Code::RequestTimeout, Code::TooLarge, Code::UnsupportedMediaType]),
    (ACCOUNT, &[Code::NoAccount]),
    (DATASET, &[Code::NoDataset]),
    (RECORD, &[Code::NotFound]),
    (CHARGE, &[Code::Refused, Code::KeyReused]),
    (CHARGE | RECEIPT, &[Code::UnknownOutcome]),
    (ANSWER, &[Code::NoAnswer]),
];

/// The codes of every path.
const ALWAYS: &[Code] =
    &[Code::HeadersTooLarge, Code::Integrity, Code::Storage, Code::Busy, Code::Stopped, Code::Alarm];

impl<const KINDS: u16> IntoResponses for ProblemResponses<KINDS> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let needed = CODES.iter().filter(|(kinds, _)| kinds & KINDS != 0).flat_map(|(_, codes)| *codes);
        let mut statuses: BTreeMap<String, Vec<Code>> = BTreeMap::new();
        for code in needed.chain(ALWAYS) {
            statuses.entry(code.status().to_string()).or_default().push(*code);
        }
        statuses.into_iter().map(|(status, codes)| (status, RefOr::T(problem(&codes)))).collect()
    }
}

fn problem(codes: &[Code]) -> Response {
    let codes: Vec<String> = codes.iter().map(|code| format!("`{}`", code.name())).collect();
    ResponseBuilder::new()
        .description(format!("A problem: {}", codes.join(", ")))
        .content(
            "application/problem+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build(),
        )
        .build()
}
