//! The problems that a path may answer with, for the document that describes the API.

use std::collections::BTreeMap;

use taximeter_service::{Code, Problem};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// What a request may come to besides what it is for: one response for each status, with the codes that it may have. `KINDS` says
/// what the path needs, and so what may be wrong.
pub(crate) struct Refusals<const KINDS: u16>;

/// Any path: headers are read, and the store may fail.
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
const THING: u16 = 1 << 5;
/// It charges.
const CHARGE: u16 = 1 << 6;
/// It asks the data.
const ANSWER: u16 = 1 << 7;

/// A path for everybody.
pub(crate) type ForAll = Refusals<ANY>;
/// A path for which a token is all that is needed.
pub(crate) type Token = Refusals<TOKEN>;
/// A path with parameters.
pub(crate) type Input = Refusals<{ TOKEN | INPUT }>;
/// A path with an account in it.
pub(crate) type Account = Refusals<{ TOKEN | INPUT | ACCOUNT }>;
/// A path with an account in what is sent, or in both.
pub(crate) type AccountBody = Refusals<{ TOKEN | BODY | ACCOUNT }>;
/// A path with a dataset in it.
pub(crate) type Dataset = Refusals<{ TOKEN | INPUT | DATASET | ACCOUNT }>;
/// A path with a dataset in what is sent, or in both.
pub(crate) type DatasetBody = Refusals<{ TOKEN | BODY | DATASET | ACCOUNT }>;
/// A path that registers data.
pub(crate) type Registering = Refusals<{ TOKEN | BODY | DATASET | ACCOUNT | THING }>;
/// A path with a record or a token in it.
pub(crate) type Thing = Refusals<{ TOKEN | INPUT | THING }>;
/// A path with a body.
pub(crate) type Body = Refusals<{ TOKEN | BODY }>;
/// A charge.
pub(crate) type Charging = Refusals<{ TOKEN | BODY | ACCOUNT | CHARGE }>;
/// A question.
pub(crate) type Asking = Refusals<{ TOKEN | BODY | ACCOUNT | DATASET | CHARGE | ANSWER }>;

/// What needs which.
const CODES: &[(u16, &[Code])] = &[
    (TOKEN, &[Code::Unauthorized, Code::Forbidden, Code::TooManyRequests]),
    (INPUT | BODY, &[Code::BadRequest]),
    (BODY, &[Code::RequestTimeout, Code::TooLarge, Code::UnsupportedMediaType]),
    (ACCOUNT, &[Code::NoAccount]),
    (DATASET, &[Code::NoDataset]),
    (THING, &[Code::NotFound]),
    (CHARGE, &[Code::Refused, Code::KeyReused, Code::UnknownOutcome]),
    (ANSWER, &[Code::NoAnswer]),
];

/// What may happen at every path.
const ALWAYS: &[Code] =
    &[Code::HeadersTooLarge, Code::Integrity, Code::Storage, Code::Busy, Code::Stopped, Code::Alarm];

impl<const KINDS: u16> IntoResponses for Refusals<KINDS> {
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
