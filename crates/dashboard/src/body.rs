//! Reads the body of a request, for pages and API alike, with limits on time and size.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use taximeter_service::{Code, Problem};

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It did not arrive in time.
    Late,
    /// It is too large.
    TooLarge,
    /// The connection broke, or the body is malformed.
    Broken,
}

/// Reads a whole body. The time limit covers reading only.
pub async fn read_whole(body: Body, largest: usize, patience: Duration) -> Result<Bytes, Unread> {
    // A declared size is checked before anything is read.
    if body.size_hint().lower() > largest as u64 {
        return Err(Unread::TooLarge);
    }
    match tokio::time::timeout(patience, Limited::new(body, largest).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Unread::TooLarge),
        Ok(Err(_)) => Err(Unread::Broken),
        Err(_) => Err(Unread::Late),
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Problem {
        match unread {
            Unread::Late => {
                Problem::new(Code::RequestTimeout, "the body took too long to arrive; nothing was done, send it again")
            }
            Unread::TooLarge => Problem::new(Code::TooLarge, "the body is larger than this server accepts; send less"),
            Unread::Broken => Problem::new(Code::BadRequest, "the body did not arrive whole; send it again"),
        }
    }
}

/// Whether the content type of a body is `wanted`, with or without parameters.
pub fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// A body of `parts` parts of four bytes, with a pause before each.
    fn trickle(parts: usize, milliseconds: u64) -> Body {
        Body::from_stream(stream::unfold(0, move |at| async move {
            (at < parts).then_some(())?;
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Some((Ok::<_, std::io::Error>("part"), at + 1))
        }))
    }

    #[test]
    fn a_body_has_to_arrive_in_time_and_not_be_too_large() {
        // A paused clock, which advances only while all tasks wait: no machine is too slow for the test.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let broken = Body::from_stream(stream::once(async { Err::<&str, _>(std::io::Error::other("cut")) }));
        for (body, expected) in [
            (Body::empty(), Ok(0)),
            (trickle(2, 1), Ok(8)),
            (trickle(25, 0), Ok(100)),
            (trickle(26, 0), Err(Unread::TooLarge)),
            (Body::from("x".repeat(101)), Err(Unread::TooLarge)),
            (trickle(6, 60), Err(Unread::Late)),
            (broken, Err(Unread::Broken)),
        ] {
            let read = runtime.block_on(read_whole(body, 100, Duration::from_millis(200)));
            assert_eq!(read.map(|bytes| bytes.len()), expected);
        }
    }
}
