//! COPY's text format: a line for each row, a delimiter between fields, backslash escapes.

use super::read::{CopyReader, LineEnd};
use crate::SqlError;
use memchr::{memchr, memchr_iter, memchr2};
use std::ops::Range;

/// Finds the fields of the next row. Returns `false` if there is no complete row in the buffer.
pub(super) fn next(reader: &mut CopyReader) -> Result<bool, SqlError> {
    while let Some(line) = next_line(reader)? {
        if &reader.data[line.clone()] == b"\\." {
            reader.ended = true;
            return Ok(false);
        }
        if std::mem::take(&mut reader.header_left) {
            continue;
        }
        split(reader, line)?;
        return Ok(true);
    }
    Ok(false)
}

/// Consumes the next line and returns its range without the line end. Returns `None` if there is no whole line.
fn next_line(reader: &mut CopyReader) -> Result<Option<Range<usize>>, SqlError> {
    if reader.ended {
        return Ok(None);
    }
    let start = reader.start;
    let Some(end) = find_newline(reader) else {
        if !reader.finished || start == reader.data.len() {
            return Ok(None);
        }
        reader.line += 1;
        reader.searched = 0;
        let end = reader.data.len();
        reader.start = end;
        let cut = reader.line_end == Some(LineEnd::ReturnNewline) && reader.data[start..end].ends_with(b"\r");
        return Ok(Some(start..end - usize::from(cut)));
    };
    reader.line += 1;
    reader.start = end + 1;
    reader.searched = 0;
    let with_return = end > start && reader.data[end - 1] == b'\r';
    let line_end = *reader.line_end.get_or_insert(if with_return { LineEnd::ReturnNewline } else { LineEnd::Newline });
    let line = match line_end {
        LineEnd::Newline => start..end,
        LineEnd::ReturnNewline if with_return => start..end - 1,
        LineEnd::ReturnNewline => {
            let error = reader.line_error("literal newline found in data", start..end);
            return Err(error.hint("Use \"\\n\" to represent newline."));
        }
    };
    if let Some(at) = memchr(b'\r', &reader.data[line.clone()])
        && !reader.data[line.start..line.start + at].ends_with(b"\\")
    {
        let error = reader.line_error("literal carriage return found in data", line);
        return Err(error.hint("Use \"\\r\" to represent carriage return."));
    }
    Ok(Some(line))
}

/// Returns the position of the next newline that is not escaped by a backslash, or `None` if there is none yet.
fn find_newline(reader: &mut CopyReader) -> Option<usize> {
    let from = reader.start + reader.searched;
    for at in memchr_iter(b'\n', &reader.data[from..]) {
        let end = from + at;
        let backslashes = reader.data[reader.start..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(end);
        }
    }
    reader.searched = reader.data.len() - reader.start;
    None
}

/// Splits a line into fields and undoes their escapes in place.
fn split(reader: &mut CopyReader, line: Range<usize>) -> Result<(), SqlError> {
    let delimiter = reader.options.delimiter;
    let escaped = memchr(b'\\', &reader.data[line.clone()]).is_some();
    reader.fields.clear();
    // A table without columns has empty lines.
    if reader.columns.is_empty() && line.is_empty() {
        return Ok(());
    }
    let mut start = line.start;
    let mut count = 0;
    loop {
        let rest = &reader.data[start..line.end];
        let end = match escaped {
            false => memchr(delimiter, rest),
            true => find_delimiter(rest, delimiter),
        }
        .map_or(line.end, |at| start + at);
        count += 1;
        // The error shows the line as it was sent, so no escape is undone until the number of fields is known to be
        // right.
        reader.fields.push(Some(start..end));
        if end == line.end || count > reader.columns.len() {
            break;
        }
        start = end + 1;
    }
    reader.check_count(count, line)?;
    let null = reader.options.null.as_bytes();
    for field in &mut reader.fields {
        let Some(range) = field else { continue };
        let raw = &reader.data[range.clone()];
        if raw == null {
            *field = None;
        } else if escaped && memchr(b'\\', raw).is_some() {
            range.end = range.start + unescape(&mut reader.data[range.clone()]);
        }
    }
    Ok(())
}

/// Returns the position of the first delimiter that is not escaped by a backslash.
fn find_delimiter(bytes: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr2(delimiter, b'\\', &bytes[at..]) {
        at += found;
        if bytes[at] == delimiter {
            return Some(at);
        }
        at = (at + 2).min(bytes.len());
    }
    None
}

/// Undoes escapes in place and returns the new length.
fn unescape(bytes: &mut [u8]) -> usize {
    let mut from = 0;
    let mut to = 0;
    while from < bytes.len() {
        let (byte, taken) = match &bytes[from..] {
            [b'\\', escape, rest @ ..] => {
                let (byte, more) = unescape_one(*escape, rest);
                (byte, 2 + more)
            }
            plain => (plain[0], 1),
        };
        bytes[to] = byte;
        to += 1;
        from += taken;
    }
    to
}

/// Returns the byte that a backslash, `escape` and the beginning of `rest` stand for, and the number of bytes of `rest`
/// that belong to it.
fn unescape_one(escape: u8, rest: &[u8]) -> (u8, usize) {
    let number = |first: u32, radix: u32| {
        let digits = rest.iter().take(2).map_while(|&byte| (byte as char).to_digit(radix));
        digits.fold((first, 0), |(value, count), digit| (value * radix + digit, count + 1))
    };
    match escape {
        b'b' => (8, 0),
        b'f' => (12, 0),
        b'n' => (b'\n', 0),
        b'r' => (b'\r', 0),
        b't' => (b'\t', 0),
        b'v' => (11, 0),
        b'0'..=b'7' => {
            let (value, count) = number(u32::from(escape - b'0'), 8);
            (value as u8, count)
        }
        b'x' => match number(0, 16) {
            (_, 0) => (b'x', 0),
            (value, count) => (value as u8, count),
        },
        other => (other, 0),
    }
}
