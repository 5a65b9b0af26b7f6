//! What can be taken away from an account's page: a receipt, or the whole history.

use std::io;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use taximeter_ledger::AccountName;
use taximeter_service::{Caller, HistoryDocument, Problem};
use tokio::sync::OwnedSemaphorePermit;

use crate::extract::Name;
use crate::page::Section;
use crate::visitor::Visitor;

/// The record of a number, as far as it may be seen.
pub(super) async fn receipt(visitor: Visitor, Path((_, file)): Path<(String, String)>) -> Response {
    let number = file.strip_suffix(".json").unwrap_or(&file).to_string();
    let found = async {
        let number =
            number.parse().map_err(|_| Problem::bad_request("the number of a record is a whole number, such as 17"))?;
        visitor.caller.receipt(number).await
    };
    match found.await {
        Ok(receipt) => {
            let file = format!("taximeter-receipt-{}.json", receipt.sequence);
            ([(header::CONTENT_DISPOSITION, attachment(&file))], Json(receipt)).into_response()
        }
        Err(failure) => visitor.page(Section::Accounts, "Receipt", Err(failure)),
    }
}

/// Everything that happened to an account, newest first, as lines of JSON.
pub(super) async fn history(visitor: Visitor, Name(name): Name) -> Response {
    match begin(visitor.caller.clone(), &name).await {
        Ok(body) => {
            let file = format!("taximeter-history-{}.jsonl", name.as_str().replace('/', "-"));
            let headers = [
                (header::CONTENT_TYPE, "application/jsonl".to_string()),
                (header::CONTENT_DISPOSITION, attachment(&file)),
            ];
            (headers, body).into_response()
        }
        Err(failure) => visitor.page(Section::Accounts, name.as_str(), Err(failure)),
    }
}

/// A name of a file has letters, digits and a few signs only, as that of an account.
fn attachment(file: &str) -> String {
    format!("attachment; filename=\"{file}\"")
}

/// A history on its way.
struct Download {
    caller: Caller,
    name: AccountName,
    /// The part that is sent next; nothing after the last.
    part: Option<HistoryDocument>,
    /// It reads as much as an export does.
    _permit: OwnedSemaphorePermit,
}

async fn begin(caller: Caller, name: &AccountName) -> Result<Body, Problem> {
    let permit = caller.export_permit()?;
    let mut download = Download { caller, name: name.clone(), part: None, _permit: permit };
    // Whoever may not have it is told so before anything is sent.
    download.part = Some(download.read(None).await?);
    Ok(Body::from_stream(unfold(download, |mut download| async {
        download.next().await.map(|lines| (lines, download))
    })))
}

impl Download {
    /// The most records at once.
    const PART: u32 = 500;

    async fn read(&self, from: Option<u64>) -> Result<HistoryDocument, Problem> {
        self.caller.history(&self.name, from, Some(Download::PART)).await
    }

    /// The next lines; an error breaks the connection, since an end in good order would be taken for the end of the history.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let part = self.part.take()?;
        if !self.caller.is_valid() {
            return Some(Err(io::Error::other("the token or the session has ended")));
        }
        if let Some(next) = part.next {
            match self.read(Some(next)).await {
                Ok(part) => self.part = Some(part),
                Err(failure) => return Some(Err(io::Error::other(failure.to_string()))),
            }
        }
        let mut lines = Vec::new();
        for record in &part.records {
            if let Err(error) = serde_json::to_writer(&mut lines, record) {
                return Some(Err(io::Error::other(error)));
            }
            lines.push(b'\n');
        }
        Some(Ok(lines.into()))
    }
}
