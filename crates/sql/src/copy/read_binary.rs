//! COPY's binary format: a header, rows, and a trailer. A row is a count of fields, and each field has its length.

use super::options::SIGNATURE;
use super::read::CopyReader;
use crate::SqlError;

/// Finds the fields of the next row. Returns `false` if there is no complete row in the buffer.
pub(super) fn next(reader: &mut CopyReader) -> Result<bool, SqlError> {
    if reader.ended {
        return Ok(false);
    }
    let complete = if reader.header_left { header(reader)? && row(reader)? } else { row(reader)? };
    if !complete && !reader.ended && reader.finished {
        // The trailer may be missing, and some drivers never send it.
        if !reader.header_left && reader.start == reader.data.len() {
            reader.ended = true;
            return Ok(false);
        }
        return Err(reader.row_error("unexpected EOF in COPY data"));
    }
    Ok(complete)
}

/// Consumes the signature, the flags and the extension. Returns `false` if they are not all there yet.
fn header(reader: &mut CopyReader) -> Result<bool, SqlError> {
    let data = &reader.data[reader.start..];
    let known = data.len().min(SIGNATURE.len());
    if data[..known] != SIGNATURE[..known] || (reader.finished && known < SIGNATURE.len()) {
        return Err(reader.row_error("COPY file signature not recognized"));
    }
    let (Some(flags), Some(extension)) = (read_i32(data, SIGNATURE.len()), read_i32(data, SIGNATURE.len() + 4)) else {
        return Ok(false);
    };
    if flags & !0xffff != 0 {
        return Err(reader.row_error("unrecognized critical flags in COPY file header"));
    }
    let Ok(extension) = usize::try_from(extension) else {
        return Err(reader.row_error("invalid COPY file header (wrong length)"));
    };
    let size = SIGNATURE.len() + 8 + extension;
    if data.len() < size {
        return Ok(false);
    }
    reader.start += size;
    reader.header_left = false;
    Ok(true)
}

/// Consumes a row, or the trailer. Returns `false` if the row is not all there yet, or for the trailer.
fn row(reader: &mut CopyReader) -> Result<bool, SqlError> {
    let Some(count) = reader.data.get(reader.start..reader.start + 2) else { return Ok(false) };
    let count = i16::from_be_bytes([count[0], count[1]]);
    let mut at = reader.start + 2;
    if count == -1 {
        reader.ended = true;
        reader.start = reader.data.len();
        return Ok(false);
    }
    if usize::try_from(count) != Ok(reader.columns.len()) {
        reader.line += 1;
        return Err(reader.row_error(format!("row field count is {count}, expected {}", reader.columns.len())));
    }
    reader.fields.clear();
    for _ in 0..count {
        let Some(size) = read_i32(&reader.data, at) else { return Ok(false) };
        at += 4;
        if size == -1 {
            reader.fields.push(None);
            continue;
        }
        let Ok(size) = usize::try_from(size) else {
            reader.line += 1;
            return Err(reader.row_error("invalid field size"));
        };
        if reader.data.len() - at < size {
            return Ok(false);
        }
        reader.fields.push(Some(at..at + size));
        at += size;
    }
    reader.start = at;
    reader.line += 1;
    Ok(true)
}

fn read_i32(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(i32::from_be_bytes(bytes.try_into().expect("four bytes")))
}
