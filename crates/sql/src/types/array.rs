//! Arrays, of one dimension that begins at 1.

use super::{Styles, binary, decode_binary, decode_text_borrowed, encode_binary, encode_text, oid};
use crate::error::unsupported;
use crate::{SqlError, state};
use bytes::{BufMut, BytesMut};
use hotrow_storage::{Array, ArrayBuilder, Element, Type, Value};

/// Returns the type of an array's elements: the element type of `ty`, or the array's own if `ty` is no array type.
fn element_type(array: &Array<'_>, ty: Type) -> Type {
    match ty {
        Type::Array(element) => element.ty(),
        _ => array.element().ty(),
    }
}

/// Returns an array of the type `element` whose elements are the results of `change`, which is not called for NULLs.
pub fn map_elements(
    array: &Array<'_>,
    element: Element,
    change: &mut dyn FnMut(Value<'_>) -> Result<Value<'static>, SqlError>,
) -> Result<Array<'static>, SqlError> {
    let mut builder = ArrayBuilder::new(element);
    for value in array {
        builder.push(&if value.is_null() { Value::Null } else { change(value)? });
    }
    Ok(builder.finish())
}

/// Appends an array in the text format: the elements in braces, with commas between them. An element is quoted if its
/// plain text would be parsed differently. Elements of vectors have only blanks between them.
pub(super) fn write_text(array: &Array<'_>, ty: Type, styles: Styles, out: &mut BytesMut) {
    let ty = element_type(array, ty);
    if array.element().is_vector() {
        return write_vector(array, ty, styles, out);
    }
    out.put_u8(b'{');
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.put_u8(b',');
        }
        if value.is_null() {
            out.put_slice(b"NULL");
            continue;
        }
        let start = out.len();
        encode_text(&value, ty, styles, out);
        if needs_quotes(&out[start..]) {
            let plain = out.split_off(start);
            out.put_u8(b'"');
            for &byte in &plain {
                if matches!(byte, b'"' | b'\\') {
                    out.put_u8(b'\\');
                }
                out.put_u8(byte);
            }
            out.put_u8(b'"');
        }
    }
    out.put_u8(b'}');
}

/// Writes the elements of a vector with blanks between them.
fn write_vector(array: &Array<'_>, ty: Type, styles: Styles, out: &mut BytesMut) {
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.put_u8(b' ');
        }
        encode_text(&value, ty, styles, out);
    }
}

fn needs_quotes(text: &[u8]) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',') || is_space(*byte))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// A token of an array literal.
enum Token {
    Open,
    Close,
    Comma,
    /// An element, and whether it was written without quotes and escapes.
    Element(String, bool),
}

/// Parses an array literal: elements in braces.
///
/// # Errors
/// 22P02 if the text is no array literal, 0A000 if it has bounds or several dimensions, and any error of an element.
pub(super) fn parse(element: Element, literal: &str, styles: Styles) -> Result<Array<'static>, SqlError> {
    let malformed = |detail: &str| {
        let message = format!("malformed array literal: \"{literal}\"");
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    };
    let mut rest = literal.trim_start_matches(|character| u8::try_from(character).is_ok_and(is_space));
    if rest.starts_with('[') {
        return Err(unsupported("an array with bounds"));
    }
    if !rest.starts_with('{') {
        return Err(malformed("Array value must start with \"{\" or dimension information."));
    }
    let mut builder = ArrayBuilder::new(element);
    next(&mut rest).map_err(&malformed)?;
    // The token that was read last: the opening brace, an element, or a comma.
    let mut before = Token::Open;
    loop {
        let token = next(&mut rest).map_err(&malformed)?;
        match (&before, &token) {
            (_, Token::Open) if !matches!(before, Token::Element(..)) => {
                return Err(unsupported("an array of more than one dimension"));
            }
            (_, Token::Open) => return Err(malformed("Unexpected \"{\" character.")),
            (Token::Comma, Token::Close) => return Err(malformed("Unexpected \"}\" character.")),
            (Token::Open | Token::Comma, Token::Comma) => return Err(malformed("Unexpected \",\" character.")),
            (Token::Element(..), Token::Element(..)) => return Err(malformed("Unexpected array element.")),
            (_, Token::Close) => break,
            (_, Token::Comma) => {}
            (_, Token::Element(text, plain)) => builder.push(&match *plain && text.eq_ignore_ascii_case("null") {
                true => Value::Null,
                false => decode_text_borrowed(element.ty(), text, styles)?,
            }),
        }
        before = token;
    }
    match rest.bytes().all(is_space) {
        true => Ok(builder.finish()),
        false => Err(malformed("Junk after closing right brace.")),
    }
}

/// Takes the next token from the rest of a literal. An error says what is wrong there.
fn next(rest: &mut &str) -> Result<Token, &'static str> {
    const END: &str = "Unexpected end of input.";
    *rest = rest.trim_start_matches(|character| u8::try_from(character).is_ok_and(is_space));
    let mut characters = rest.char_indices();
    let token = match characters.next().ok_or(END)?.1 {
        '{' => Token::Open,
        '}' => Token::Close,
        ',' => Token::Comma,
        '"' => {
            let mut text = String::new();
            loop {
                match characters.next().ok_or(END)?.1 {
                    '"' => break,
                    '\\' => text.push(characters.next().ok_or(END)?.1),
                    other => text.push(other),
                }
            }
            Token::Element(text, false)
        }
        _ => return plain(rest),
    };
    *rest = characters.as_str();
    Ok(token)
}

/// Reads an element without quotes, up to a comma or brace. Blanks at its end do not belong to it.
fn plain(rest: &mut &str) -> Result<Token, &'static str> {
    const END: &str = "Unexpected end of input.";
    let (mut text, mut is_plain, mut kept) = (String::new(), true, 0);
    let mut characters = rest.char_indices();
    loop {
        let (at, character) = characters.next().ok_or(END)?;
        match character {
            ',' | '}' => {
                *rest = &rest[at..];
                text.truncate(kept);
                return Ok(Token::Element(text, is_plain));
            }
            '{' => return Err("Unexpected \"{\" character."),
            '"' => return Err("Unexpected array element."),
            '\\' => {
                text.push(characters.next().ok_or(END)?.1);
                is_plain = false;
                kept = text.len();
            }
            other => {
                text.push(other);
                if !u8::try_from(other).is_ok_and(is_space) {
                    kept = text.len();
                }
            }
        }
    }
}

/// Appends an array in the binary format: the number of dimensions, whether there are NULLs, the OID of the elements'
/// type, the length and the first index of each dimension, and then the elements.
pub(super) fn write_binary(array: &Array<'_>, ty: Type, out: &mut BytesMut) {
    let ty = element_type(array, ty);
    out.put_i32(i32::from(!array.is_empty()));
    out.put_i32(i32::from(array.iter().any(|value| value.is_null())));
    out.put_u32(oid(ty));
    if array.is_empty() {
        return;
    }
    out.put_i32(array.len() as i32);
    out.put_i32(array.first_index());
    for value in array {
        let at = out.len();
        out.put_i32(-1);
        if !value.is_null() {
            encode_binary(&value, ty, out);
            let length = (out.len() - at - 4) as i32;
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Parses an array in the binary format, as [`write_binary`] appends it.
///
/// # Errors
/// 22P03 if the bytes are no such array, 42804 if the elements are of another type, 0A000 if it has bounds or several
/// dimensions.
pub(super) fn read_binary(element: Element, bytes: &[u8]) -> Result<Array<'static>, SqlError> {
    let mut rest = bytes;
    let dimensions = word(&mut rest)?;
    let (_, given) = (word(&mut rest)?, word(&mut rest)? as u32);
    // The elements of all text types are read alike.
    let is_text = |number| oid::from_oid(number, -1).is_some_and(Type::is_text);
    if given != oid(element.ty()) && !(is_text(given) && element.ty().is_text()) {
        return Err(SqlError::new(state::DATATYPE_MISMATCH, "wrong element type"));
    }
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, lower) = (word(&mut rest)?, word(&mut rest)?);
            if lower != 1 {
                return Err(unsupported("an array with bounds"));
            }
            usize::try_from(count).map_err(|_| binary::invalid("an array has a negative length"))?
        }
        2.. => return Err(unsupported("an array of more than one dimension")),
        _ => return Err(binary::invalid("an array has a negative number of dimensions")),
    };
    let mut builder = ArrayBuilder::new(element);
    for _ in 0..count {
        match usize::try_from(word(&mut rest)?) {
            Err(_) => builder.push(&Value::Null),
            Ok(length) => {
                let Some((value, after)) = rest.split_at_checked(length) else {
                    return Err(binary::invalid("an array ends within an element"));
                };
                builder.push(&decode_binary(element.ty(), value)?);
                rest = after;
            }
        }
    }
    if !rest.is_empty() {
        return Err(binary::invalid("an array has more than its elements"));
    }
    Ok(builder.finish())
}

fn word(rest: &mut &[u8]) -> Result<i32, SqlError> {
    let Some((word, after)) = rest.split_first_chunk() else {
        return Err(binary::invalid("an array ends within its head"));
    };
    *rest = after;
    Ok(i32::from_be_bytes(*word))
}
