//! A form with a file, read as it arrives: `multipart/form-data` as browsers write it (RFC 7578).
//!
//! Only the heads and the text of small fields are held in memory, up to a limit. The file is the last part and is streamed.

use std::io;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::stream::{BoxStream, StreamExt, unfold};
use taximeter_service::{Code, Problem};

use crate::body::is_of_type;

/// The parts of a body, in order.
pub(super) struct Multipart {
    stream: BodyDataStream,
    /// Bytes that have arrived and are not read yet.
    buffer: Vec<u8>,
    /// The bytes between two parts.
    delimiter: Vec<u8>,
    /// How many more bytes the heads and texts may have.
    left: usize,
}

/// A file as it arrives.
pub(super) type FileStream = BoxStream<'static, io::Result<Bytes>>;

/// The head of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartHead {
    /// The name of the field.
    pub(super) name: String,
    /// The name of the file, for a file field; empty if no file was chosen.
    pub(super) file: Option<String>,
}

impl Multipart {
    /// The parts of a body. Their heads and texts have at most `most` bytes in all.
    pub(super) fn new(headers: &HeaderMap, body: Body, most: usize) -> Result<Multipart, Problem> {
        let boundary = boundary(headers).ok_or_else(|| {
            Problem::new(Code::UnsupportedMediaType, "a form with a file must be multipart/form-data with a boundary")
        })?;
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first delimiter has no line before it.
        Ok(Multipart { stream: body.into_data_stream(), buffer: b"\r\n".to_vec(), delimiter, left: most })
    }

    /// The head of the first part.
    pub(super) async fn first(&mut self) -> Result<PartHead, Problem> {
        let delimiter = self.delimiter.clone();
        while self.buffer.len() < delimiter.len() {
            self.more().await?;
        }
        if !self.buffer.starts_with(&delimiter) {
            return Err(unreadable("it does not begin with a part"));
        }
        self.take(delimiter.len())?;
        self.next().await?.ok_or_else(|| unreadable("it has no parts"))
    }

    /// The head of the next part, after the text of the one before was read; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<PartHead>, Problem> {
        while self.buffer.len() < 2 {
            self.more().await?;
        }
        match &self.take(2)?[..] {
            b"--" => return Ok(None),
            b"\r\n" => {}
            _ => return Err(unreadable("a part does not begin on a line of its own")),
        }
        // The first line break is taken: a head ends with an empty line.
        let head = self.take_until(b"\r\n\r\n").await?;
        let part = part(&head).ok_or_else(|| unreadable("a part has no name"))?;
        Ok(Some(part))
    }

    /// The text of the part whose head was read last.
    pub(super) async fn text(&mut self) -> Result<String, Problem> {
        let delimiter = self.delimiter.clone();
        let text = self.take_until(&delimiter).await?;
        String::from_utf8(text).map_err(|_| unreadable("a field is not UTF-8 text"))
    }

    /// The file whose head was read last, as a stream. It fails unless the form ends with the file.
    pub(super) fn into_file(self) -> FileStream {
        let file = unfold(Some(self), |parts| async move {
            let mut parts = parts?;
            match parts.chunk().await {
                Ok(Some(chunk)) => Some((Ok(chunk), Some(parts))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Box::pin(file)
    }

    /// The next bytes of the file; `None` at its end.
    async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(end) = find(&self.buffer, &self.delimiter) {
                if end > 0 {
                    return Ok(Some(self.buffer.drain(..end).collect::<Vec<u8>>().into()));
                }
                return self.ends().await.map(|()| None);
            }
            // The end of the buffer may be the start of a delimiter.
            let safe = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
            if safe > 0 {
                return Ok(Some(self.buffer.drain(..safe).collect::<Vec<u8>>().into()));
            }
            self.more().await.map_err(|_| cut())?;
        }
    }

    /// The delimiter at the front of the buffer must be the last one.
    async fn ends(&mut self) -> io::Result<()> {
        let after = self.delimiter.len();
        while self.buffer.len() < after + 2 {
            self.more().await.map_err(|_| cut())?;
        }
        if &self.buffer[after..after + 2] == b"--" {
            Ok(())
        } else {
            Err(io::Error::other("the file is not the last part"))
        }
    }

    /// Waits for more bytes.
    async fn more(&mut self) -> Result<(), Problem> {
        match self.stream.next().await {
            Some(Ok(bytes)) => {
                self.buffer.extend_from_slice(&bytes);
                Ok(())
            }
            _ => Err(unreadable("it did not arrive whole")),
        }
    }

    /// Takes everything before a mark, and the mark.
    async fn take_until(&mut self, mark: &[u8]) -> Result<Vec<u8>, Problem> {
        loop {
            if let Some(end) = find(&self.buffer, mark) {
                let taken = self.take(end)?;
                self.take(mark.len())?;
                return Ok(taken);
            }
            // The buffer may end with the start of the mark.
            if self.buffer.len() > self.left + mark.len() {
                return Err(too_large());
            }
            self.more().await?;
        }
    }

    /// Takes `length` bytes of the buffer, within the limit.
    fn take(&mut self, length: usize) -> Result<Vec<u8>, Problem> {
        self.left = self.left.checked_sub(length).ok_or_else(too_large)?;
        Ok(self.buffer.drain(..length).collect())
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(
        Code::BadRequest,
        format!("the form cannot be read: {why}; open its page again and send it from there"),
    )
}

fn too_large() -> Problem {
    Problem::new(Code::TooLarge, "the fields of the form are larger than this server accepts; shorten them")
}

fn cut() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// The boundary in the content type.
fn boundary(headers: &HeaderMap) -> Option<&str> {
    if !is_of_type(headers, "multipart/form-data") {
        return None;
    }
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let parameters = kind.split(';').skip(1).filter_map(|parameter| parameter.trim().split_once('='));
    let boundary = parameters.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?.1.trim_matches('"');
    // The limits of RFC 2046.
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// Reads a head. Browsers write quotes in names as %22, so a quote ends a name.
fn part(head: &[u8]) -> Option<PartHead> {
    let head = String::from_utf8_lossy(head);
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then(|| value.trim())
    })?;
    let rest = disposition.strip_prefix("form-data")?;
    let value = |name: &str| Some(rest.split_once(&format!("; {name}=\""))?.1.split_once('"')?.0.to_string());
    Some(PartHead { name: value("name")?, file: value("filename") })
}

/// The first position of `wanted`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == wanted[0]) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use futures_util::stream;

    use super::*;

    /// The fields of a form, and its file with its name if it has one.
    type Read = (Vec<(String, String)>, Option<(String, Vec<u8>)>);

    /// Reads a form that arrives in pieces of `piece` bytes.
    fn read(body: &[u8], piece: usize, most: usize) -> Result<Read, String> {
        let headers = HeaderMap::from_iter([(
            header::CONTENT_TYPE,
            HeaderValue::from_static("multipart/form-data; charset=utf-8; boundary=\"--edge\""),
        )]);
        let pieces: Vec<io::Result<Vec<u8>>> = body.chunks(piece).map(|piece| Ok(piece.to_vec())).collect();
        let body = Body::from_stream(stream::iter(pieces));
        let mut parts = Multipart::new(&headers, body, most).map_err(|failure| failure.detail)?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let detail = |failure: Problem| failure.detail;
            let mut fields = Vec::new();
            let mut part = Some(parts.first().await.map_err(detail)?);
            while let Some(PartHead { name, file }) = part {
                if let Some(file) = file {
                    let chunks: Vec<io::Result<Bytes>> = parts.into_file().collect().await;
                    let chunks: io::Result<Vec<Bytes>> = chunks.into_iter().collect();
                    let contents = chunks.map_err(|error| error.to_string())?.concat();
                    return Ok((fields, Some((file, contents))));
                }
                fields.push((name, parts.text().await.map_err(detail)?));
                part = parts.next().await.map_err(detail)?;
            }
            Ok((fields, None))
        })
    }

    /// A form with a field, and a file if there is one.
    fn form(text: &str, file: Option<&str>) -> Vec<u8> {
        let mut body =
            format!("----edge\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{text}\r\n----edge").into_bytes();
        if let Some(file) = file {
            let head = "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a; b.csv\"\r\nContent-Type: text/csv\r\n\r\n";
            body.extend_from_slice(format!("{head}{file}\r\n----edge").as_bytes());
        }
        body.extend_from_slice(b"--\r\n");
        body
    }

    #[test]
    fn a_form_is_read_whatever_the_size_of_its_pieces() {
        for text in ["", "x", "x\r\n", "\r\n", "\r\n--", "\r\n----edg", "a\r\n\r\n\r\n----edga\r", "----edge", "ä"] {
            for file in [None, Some(text)] {
                let body = form(text, file);
                for piece in 1..=body.len() {
                    let (fields, found) = read(&body, piece, 1000).unwrap();
                    // Only a whole delimiter ends a text.
                    assert_eq!(fields, [("a".to_string(), text.to_string())], "{text:?} by {piece}");
                    let expected = file.map(|file| ("a; b.csv".to_string(), file.as_bytes().to_vec()));
                    assert_eq!(found, expected, "{text:?} by {piece}");
                }
            }
        }
    }

    #[test]
    fn a_large_file_arrives_as_it_is() {
        let file: String = (0..20_000).map(|at| format!("{at},\r\n")).collect();
        for piece in [7, 1000, 65_536] {
            let (_, found) = read(&form("x", Some(&file)), piece, 1000).unwrap();
            assert_eq!(found.unwrap().1, file.as_bytes());
        }
    }

    #[test]
    fn truncated_and_malformed_forms_are_rejected() {
        let whole = form("text", Some("1\r\n2\r\n"));
        // The line break at the very end is not needed.
        for length in 0..whole.len() - 2 {
            for piece in [1, 1000] {
                assert!(read(&whole[..length], piece, 1000).is_err(), "{length}");
            }
        }
        for body in [
            "",
            "\r\n",
            "----edge--\r\n",
            "preamble\r\n----edge\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n----edge--",
            "----edge \r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n----edge--",
            "----edge\r\n\r\nx\r\n----edge--",
            "----edge\r\nContent-Type: text/plain\r\n\r\nx\r\n----edge--",
            "----edge\r\nContent-Disposition: form-data\r\n\r\nx\r\n----edge--",
            "----edge\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nx\r\n----edge--",
            "----edge\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n----edge--",
        ] {
            assert!(read(body.as_bytes(), 3, 1000).is_err(), "{body}");
        }
        assert!(
            read(b"----edge\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xff\r\n----edge--", 5, 1000).is_err()
        );
    }

    #[test]
    fn nothing_may_follow_the_file() {
        let body = String::from_utf8(form("x", Some("1"))).unwrap();
        let body = body.replace(
            "1\r\n----edge--",
            "1\r\n----edge\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ny\r\n----edge--",
        );
        assert!(read(body.as_bytes(), 1000, 1000).unwrap_err().contains("last"));
    }

    #[test]
    fn fields_have_a_limit_and_the_file_does_not_count() {
        let long = "9".repeat(1000);
        let (head, delimiters) =
            ("Content-Disposition: form-data; name=\"a\"\r\n\r\n".len(), 2 * "\r\n----edge\r\n".len());
        let most = long.len() + head + delimiters;
        assert!(read(&form(&long, None), 100, most).is_ok());
        assert!(read(&form(&long, None), 100, most - 1).unwrap_err().contains("larger"));
        assert!(read(&form("", Some(&long.repeat(100))), 100, 300).is_ok());
        // An endless head, and an endless text.
        for body in [format!("----edge\r\n{}", long.repeat(10)), format!("----edge\r\n{}", "a: b\r\n".repeat(1000))] {
            assert!(read(body.as_bytes(), 100, 2000).unwrap_err().contains("larger"));
        }
    }

    #[test]
    fn the_boundary_is_read_from_the_content_type() {
        for (kind, expected) in [
            ("multipart/form-data; boundary=x", Some("x")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"x y\"", Some("x y")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=x", None),
            ("text/csv; boundary=x", None),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(boundary(&headers), expected, "{kind}");
        }
        assert_eq!(boundary(&HeaderMap::new()), None);
    }
}
