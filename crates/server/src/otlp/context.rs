//! The header `traceparent`, by which a caller makes a request part of a trace of its own (W3C Trace Context, level 1).

use axum::http::HeaderMap;

use super::new_id;

/// The trace that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace: [u8; 16],
    /// The caller's span; nothing for a trace that begins here.
    pub(crate) parent: Option<[u8; 8]>,
    /// Whether the caller wants it recorded.
    pub(crate) is_sampled: bool,
}

impl TraceContext {
    /// The caller's trace, or a new one; nothing without random numbers.
    pub(crate) fn of(headers: &HeaderMap) -> Option<TraceContext> {
        let mut values = headers.get_all("traceparent").iter();
        let given = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok().and_then(TraceContext::parse),
            _ => None,
        };
        given.or_else(|| Some(TraceContext { trace: new_id()?, parent: None, is_sampled: true }))
    }

    /// Reads `00-TRACE-PARENT-FLAGS`, in hexadecimal digits in lower case. Later versions may have more behind it.
    fn parse(text: &str) -> Option<TraceContext> {
        let mut parts = text.split('-');
        let [version] = digits(parts.next()?)?;
        let (trace, parent): ([u8; 16], [u8; 8]) = (digits(parts.next()?)?, digits(parts.next()?)?);
        let [flags] = digits(parts.next()?)?;
        let is_whole = version < 255 && (version > 0 || parts.next().is_none());
        let is_valid = is_whole && trace != [0; 16] && parent != [0; 8];
        is_valid.then_some(TraceContext { trace, parent: Some(parent), is_sampled: flags & 1 == 1 })
    }
}

fn digits<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    if text.len() != 2 * LENGTH || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_parent_is_read_in_its_one_form() {
        let parent = |flags: &str| TraceContext::parse(&format!("00-{TRACE}-00f067aa0ba902b7-{flags}"));
        let read = parent("01").unwrap();
        assert_eq!((read.trace[0], read.parent.unwrap()[7], read.is_sampled), (0x4b, 0xb7, true));
        assert!(!parent("00").unwrap().is_sampled);
        assert!(TraceContext::parse(&format!("cc-{TRACE}-00f067aa0ba902b7-01-more")).is_some());
        for text in [
            String::new(),
            format!("00-{TRACE}-00f067aa0ba902b7"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{TRACE}é-00f067aa0ba902b7-01"),
            format!("00-{}é-00f067aa0ba902b7-01", &TRACE[2..]),
        ] {
            assert_eq!(TraceContext::parse(&text), None, "{text:?}");
        }
    }

    #[test]
    fn without_a_valid_parent_a_trace_begins() {
        let mut headers = HeaderMap::new();
        let first = TraceContext::of(&headers).unwrap();
        assert!(first.parent.is_none() && first.is_sampled && first != TraceContext::of(&headers).unwrap());
        for _ in 0..2 {
            headers.append("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01").parse().unwrap());
        }
        assert_eq!(TraceContext::of(&headers).unwrap().parent, None, "there are two");
    }
}
