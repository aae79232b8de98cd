//! COPY's format CSV: comma-separated values, with quotes around fields with special characters and no other escapes.

use super::read::CopyReader;
use crate::SqlError;
use memchr::memchr;
use std::ops::Range;

/// Finds the fields of the next row. Returns `false` if there is no complete row in the buffer.
pub(super) fn next(reader: &mut CopyReader) -> Result<bool, SqlError> {
    while let Some(record) = next_record(reader)? {
        if &reader.data[record.clone()] == b"\\." {
            reader.ended = true;
            return Ok(false);
        }
        if std::mem::take(&mut reader.header_left) {
            continue;
        }
        split(reader, record)?;
        return Ok(true);
    }
    Ok(false)
}

/// Consumes the next record and returns its range without the line end. A record is a line, or several if a quoted
/// field contains line ends. Returns `None` if there is no whole record.
fn next_record(reader: &mut CopyReader) -> Result<Option<Range<usize>>, SqlError> {
    if reader.ended {
        return Ok(None);
    }
    let start = reader.start;
    let end = match find_end(reader) {
        Some(end) => {
            reader.start = end + 1;
            end
        }
        None if !reader.finished || start == reader.data.len() => return Ok(None),
        None => {
            reader.start = reader.data.len();
            reader.data.len()
        }
    };
    reader.searched = 0;
    reader.line += std::mem::replace(&mut reader.row_lines, 1);
    if reader.in_quotes {
        return Err(reader.line_error("unterminated CSV quoted field", start..end));
    }
    let cut = reader.data[start..end].ends_with(b"\r");
    Ok(Some(start..end - usize::from(cut)))
}

/// Returns the position of the next newline outside quotes, or `None` if there is none yet. If the escape is not the
/// quote, an escaped quote does not end the quotes.
fn find_end(reader: &mut CopyReader) -> Option<usize> {
    let (quote, escape) = (reader.options.quote, reader.options.escape);
    let own_escape = (escape != quote).then_some(escape);
    let mut at = reader.start + reader.searched;
    while at < reader.data.len() {
        let byte = reader.data[at];
        if reader.in_quotes && Some(byte) == own_escape {
            // The byte after the escape decides whether it escapes anything.
            if at + 1 == reader.data.len() && !reader.finished {
                break;
            }
            at += if matches!(reader.data.get(at + 1), Some(&next) if next == quote || next == escape) { 2 } else { 1 };
            continue;
        }
        if byte == quote {
            reader.in_quotes = !reader.in_quotes;
        } else if byte == b'\n' {
            if !reader.in_quotes {
                return Some(at);
            }
            reader.row_lines += 1;
        }
        at += 1;
    }
    reader.searched = at - reader.start;
    None
}

/// Splits a record into fields and removes their quotes in place.
fn split(reader: &mut CopyReader, record: Range<usize>) -> Result<(), SqlError> {
    let quoted = memchr(reader.options.quote, &reader.data[record.clone()]).is_some();
    reader.fields.clear();
    if reader.columns.is_empty() && record.is_empty() {
        return Ok(());
    }
    let mut start = record.start;
    let mut count = 0;
    loop {
        let end = find_delimiter(reader, start..record.end, quoted);
        count += 1;
        reader.fields.push(Some(start..end));
        if end == record.end || count > reader.columns.len() {
            break;
        }
        start = end + 1;
    }
    reader.check_count(count, record)?;
    let CopyReader { options, data, fields, .. } = reader;
    for field in fields {
        let Some(range) = field else { continue };
        let raw = &mut data[range.clone()];
        // Only an unquoted field can be NULL: no NULL string holds a quote.
        if raw == options.null.as_bytes() {
            *field = None;
        } else if quoted {
            range.end = range.start + unquote(raw, options.quote, options.escape);
        }
    }
    Ok(())
}

/// Returns the end of the field that begins a range: a delimiter outside quotes, or the end of the range.
fn find_delimiter(reader: &CopyReader, range: Range<usize>, quoted: bool) -> usize {
    let bytes = &reader.data[range.clone()];
    let (delimiter, quote, escape) = (reader.options.delimiter, reader.options.quote, reader.options.escape);
    if !quoted {
        return memchr(delimiter, bytes).map_or(range.end, |at| range.start + at);
    }
    let mut inside = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        if inside && escape != quote && byte == escape && next.is_some_and(|next| next == quote || next == escape) {
            at += 1;
        } else if byte == quote {
            inside = !inside;
        } else if byte == delimiter && !inside {
            return range.start + at;
        }
        at += 1;
    }
    range.end
}

/// Removes quotes and escapes in place and returns the new length.
fn unquote(bytes: &mut [u8], quote: u8, escape: u8) -> usize {
    let mut inside = false;
    let mut to = 0;
    let mut from = 0;
    while from < bytes.len() {
        let byte = bytes[from];
        let next = bytes.get(from + 1).copied();
        from += 1;
        if inside && byte == escape && next.is_some_and(|next| next == quote || next == escape) {
            bytes[to] = next.unwrap_or(byte);
            to += 1;
            from += 1;
        } else if byte == quote {
            inside = !inside;
        } else {
            bytes[to] = byte;
            to += 1;
        }
    }
    to
}
