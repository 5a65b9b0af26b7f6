//! Downloads of an account's page: a receipt, or the whole history.

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

use crate::extract::PathName;
use crate::page::Section;
use crate::visitor::Visitor;

/// A record by its number, without what the visitor may not see.
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

/// The whole history of an account, newest first, as lines of JSON.
pub(super) async fn history(visitor: Visitor, PathName(name): PathName) -> Response {
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

/// The header for a download. The file name needs no escapes: it has the characters of an account name.
fn attachment(file: &str) -> String {
    format!("attachment; filename=\"{file}\"")
}

/// A history that is being sent.
struct Download {
    caller: Caller,
    name: AccountName,
    /// The page to send next; `None` after the last.
    part: Option<HistoryDocument>,
    /// It is as much work as an export.
    _permit: OwnedSemaphorePermit,
}

async fn begin(caller: Caller, name: &AccountName) -> Result<Body, Problem> {
    let permit = caller.export_permit()?;
    let mut download = Download { caller, name: name.clone(), part: None, _permit: permit };
    // Errors of permission are reported before anything is sent.
    download.part = Some(download.read(None).await?);
    Ok(Body::from_stream(unfold(download, |mut download| async {
        download.next().await.map(|lines| (lines, download))
    })))
}

impl Download {
    /// The records of one page.
    const PART: u32 = 500;

    async fn read(&self, from: Option<u64>) -> Result<HistoryDocument, Problem> {
        self.caller.history(&self.name, from, Some(Download::PART)).await
    }

    /// The next lines. An error breaks the connection: a clean end would look like the end of the history.
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
