//! Functions of strings.

use super::argument::{Arguments, integer_of, invalid, text_of};
use super::function::{Function, Overload, TextFunction};
use crate::expr::arith::out_of_range;
use crate::expr::pattern::{lower, upper};
use crate::memory::check_size;
use crate::schema::quoted;
use crate::types::{Styles, decode_text, encode_text};
use crate::{MemoryLimit, SqlError, state};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use bytes::BytesMut;
use hotrow_storage::{Type, Value};
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use std::borrow::Cow;

const CHAR: Type = Type::Char(1);

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use TextFunction as F;
    use Type::{Bool, Bytea, Int4, Text};
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: Function::Text(F::$function), arguments: &[$($argument),*], result: $result,
                }),*]
            }
        };
    }
    match name {
        "length" => overloads![Length(Text) -> Int4, Length(Bytea) -> Int4],
        "char_length" | "character_length" => overloads![Length(Text) -> Int4],
        "octet_length" => overloads![OctetLength(Text) -> Int4, OctetLength(CHAR) -> Int4, OctetLength(Bytea) -> Int4],
        "bit_length" => overloads![BitLength(Text) -> Int4, BitLength(Bytea) -> Int4],
        "lower" => overloads![Lower(Text) -> Text],
        "upper" => overloads![Upper(Text) -> Text],
        "initcap" => overloads![Initcap(Text) -> Text],
        "substr" | "substring" => overloads![Substring(Text, Int4) -> Text, Substring(Text, Int4, Int4) -> Text],
        "overlay" => overloads![Overlay(Text, Text, Int4) -> Text, Overlay(Text, Text, Int4, Int4) -> Text],
        "btrim" => overloads![Trim(Text) -> Text, Trim(Text, Text) -> Text],
        "ltrim" => overloads![TrimStart(Text) -> Text, TrimStart(Text, Text) -> Text],
        "rtrim" => overloads![TrimEnd(Text) -> Text, TrimEnd(Text, Text) -> Text],
        "strpos" | "position" => overloads![Position(Text, Text) -> Int4],
        "starts_with" | "^@" => overloads![StartsWith(Text, Text) -> Bool],
        "replace" => overloads![Replace(Text, Text, Text) -> Text],
        "translate" => overloads![Translate(Text, Text, Text) -> Text],
        "left" => overloads![Left(Text, Int4) -> Text],
        "right" => overloads![Right(Text, Int4) -> Text],
        "repeat" => overloads![Repeat(Text, Int4) -> Text],
        "reverse" => overloads![Reverse(Text) -> Text],
        "lpad" => overloads![PadLeft(Text, Int4) -> Text, PadLeft(Text, Int4, Text) -> Text],
        "rpad" => overloads![PadRight(Text, Int4) -> Text, PadRight(Text, Int4, Text) -> Text],
        "split_part" => overloads![SplitPart(Text, Text, Int4) -> Text],
        "ascii" => overloads![Ascii(Text) -> Int4],
        "chr" => overloads![Character(Int4) -> Text],
        "quote_ident" => overloads![QuoteIdentifier(Text) -> Text],
        "quote_literal" => overloads![QuoteLiteral(Text) -> Text],
        "md5" => overloads![Md5(Text) -> Text, Md5(Bytea) -> Text],
        "sha224" => overloads![Sha224(Bytea) -> Bytea],
        "sha256" => overloads![Sha256(Bytea) -> Bytea],
        "sha384" => overloads![Sha384(Bytea) -> Bytea],
        "sha512" => overloads![Sha512(Bytea) -> Bytea],
        "encode" => overloads![Encode(Bytea, Text) -> Text],
        "decode" => overloads![Decode(Text, Text) -> Bytea],
        _ => &[],
    }
}

impl TextFunction {
    /// Returns the result of the function. The arguments must have the types of one of its overloads.
    pub(super) fn call<'a>(self, arguments: Arguments<'a>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
        let [first, second, third, fourth, ..] = arguments;
        match first {
            Value::Text(text) => self.on_text(text, &second, &third, &fourth, memory),
            Value::Bytea(bytes) => self.on_bytes(&bytes, &second, memory),
            number => character(integer_of(&number)).map(|text| Value::Text(text.into())),
        }
    }

    fn on_bytes<'a>(self, bytes: &[u8], format: &Value<'_>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
        match self {
            TextFunction::BitLength => count(bytes.len().saturating_mul(8)),
            TextFunction::Md5 => Ok(md5(bytes)),
            TextFunction::Sha224 => Ok(digest::<Sha224>(bytes)),
            TextFunction::Sha256 => Ok(digest::<Sha256>(bytes)),
            TextFunction::Sha384 => Ok(digest::<Sha384>(bytes)),
            TextFunction::Sha512 => Ok(digest::<Sha512>(bytes)),
            TextFunction::Encode => encode(bytes, text_of(format), memory).map(|text| Value::Text(text.into())),
            _ => count(bytes.len()),
        }
    }

    fn on_text<'a>(
        self,
        text: Cow<'a, str>,
        second: &Value<'_>,
        third: &Value<'_>,
        fourth: &Value<'_>,
        memory: MemoryLimit,
    ) -> Result<Value<'a>, SqlError> {
        let number = integer_of(second);
        let other = text_of(second);
        let owned = match self {
            TextFunction::Length => return count(text.chars().count()),
            TextFunction::OctetLength => return count(text.len()),
            TextFunction::BitLength => return count(text.len().saturating_mul(8)),
            TextFunction::Ascii => return Ok(Value::Int4(text.chars().next().map_or(0, |first| first as i32))),
            TextFunction::Position => return count(text.find(other).map_or(0, |at| text[..at].chars().count() + 1)),
            TextFunction::StartsWith => return Ok(Value::Bool(text.starts_with(other))),
            TextFunction::Decode => return decode(&text, other).map(|bytes| Value::Bytea(bytes.into())),
            TextFunction::Md5 => return Ok(md5(text.as_bytes())),
            TextFunction::Substring => return Ok(Value::Text(substring(text, number, third.as_int())?)),
            TextFunction::Lower => lower(&text),
            TextFunction::Upper => upper(&text),
            TextFunction::Initcap => initcap(&text),
            TextFunction::Overlay => overlay(&text, other, integer_of(third), fourth.as_int(), memory)?,
            TextFunction::Trim => text.trim_matches(in_set(second)).to_owned(),
            TextFunction::TrimStart => text.trim_start_matches(in_set(second)).to_owned(),
            TextFunction::TrimEnd => text.trim_end_matches(in_set(second)).to_owned(),
            TextFunction::Replace => replace(text, other, text_of(third), memory)?,
            TextFunction::Translate => translate(&text, other, text_of(third)),
            TextFunction::Left => text.chars().take(kept(&text, number)).collect(),
            TextFunction::Right => text.chars().skip(text.chars().count() - kept(&text, number)).collect(),
            TextFunction::Repeat => {
                let times = usize::try_from(number).unwrap_or(0);
                check_size(text.len().saturating_mul(times), memory)?;
                text.repeat(times)
            }
            TextFunction::Reverse => text.chars().rev().collect(),
            TextFunction::PadLeft => pad(&text, number, third, true, memory)?,
            TextFunction::PadRight => pad(&text, number, third, false, memory)?,
            TextFunction::SplitPart => return Ok(Value::Text(split_part(text, other, integer_of(third))?)),
            TextFunction::QuoteIdentifier => quoted(&text),
            TextFunction::QuoteLiteral => quote_literal(&text),
            TextFunction::Character | TextFunction::Encode => text.into_owned(),
            TextFunction::Sha224 | TextFunction::Sha256 | TextFunction::Sha384 | TextFunction::Sha512 => {
                text.into_owned()
            }
        };
        Ok(Value::Text(owned.into()))
    }
}

fn count(count: usize) -> Result<Value<'static>, SqlError> {
    i32::try_from(count).map(Value::Int4).map_err(|_| out_of_range(Type::Int4))
}

/// Returns whether a character is trimmed: it is in the given set, which is a space by default.
fn in_set(set: &Value<'_>) -> impl Fn(char) -> bool {
    let set = match set {
        Value::Text(set) => &**set,
        _ => " ",
    };
    move |character| set.contains(character)
}

/// Returns the number of characters that LEFT and RIGHT keep: `number`, or all but `-number` if it is negative.
fn kept(text: &str, number: i64) -> usize {
    let total = text.chars().count();
    let kept = if number < 0 { (total as i64).saturating_add(number) } else { number };
    usize::try_from(kept.max(0)).unwrap_or(total).min(total)
}

fn replace(text: Cow<'_, str>, old: &str, new: &str, memory: MemoryLimit) -> Result<String, SqlError> {
    if old.is_empty() {
        return Ok(text.into_owned());
    }
    let growth = new.len().saturating_sub(old.len());
    if growth > 0 {
        check_size(text.matches(old).count().saturating_mul(growth).saturating_add(text.len()), memory)?;
    }
    Ok(text.replace(old, new))
}

/// Replaces each character of `from` by the character at the same place in `to`. If `to` has no such place, the
/// character is dropped.
fn translate(text: &str, from: &str, to: &str) -> String {
    let translated = |character: char| match from.chars().position(|wanted| wanted == character) {
        Some(at) => to.chars().nth(at),
        None => Some(character),
    };
    text.chars().filter_map(translated).collect()
}

fn initcap(text: &str) -> String {
    let mut in_word = false;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let mut bytes = [0; 4];
        let one = &*character.encode_utf8(&mut bytes);
        out.push_str(&if in_word { lower(one) } else { upper(one) });
        in_word = character.is_alphanumeric();
    }
    out
}

/// Returns `length` characters from `start`, which counts from 1 and may lie before the text. Without a length, returns
/// all that follow.
fn substring(text: Cow<'_, str>, start: i64, length: Option<i64>) -> Result<Cow<'_, str>, SqlError> {
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let offset = |position: i64| {
        let characters = usize::try_from((position - 1).max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
    };
    let from = offset(start);
    let range = from..offset(end).max(from);
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
        Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
    })
}

fn negative_length() -> SqlError {
    SqlError::new(state::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// Replaces `length` characters from `start` by a new text. Without a length, replaces as many as the new text has.
fn overlay(text: &str, new: &str, start: i64, length: Option<i64>, memory: MemoryLimit) -> Result<String, SqlError> {
    if start <= 0 {
        return Err(negative_length());
    }
    let length = length.unwrap_or_else(|| new.chars().count() as i64);
    let before = substring(text.into(), 1, Some(start - 1))?;
    let after = substring(text.into(), start.saturating_add(length), None)?;
    check_size(before.len().saturating_add(new.len()).saturating_add(after.len()), memory)?;
    Ok([&before, new, &after].concat())
}

fn pad(text: &str, number: i64, fill: &Value<'_>, left: bool, memory: MemoryLimit) -> Result<String, SqlError> {
    let wanted = usize::try_from(number).unwrap_or(0);
    check_size(wanted.saturating_mul(4), memory)?;
    let total = text.chars().count();
    if total >= wanted {
        return Ok(text.chars().take(wanted).collect());
    }
    let fill = match fill {
        Value::Text(fill) => &**fill,
        _ => " ",
    };
    let padding = fill.chars().cycle().take(wanted - total);
    Ok(if left { padding.chain(text.chars()).collect() } else { text.chars().chain(padding).collect() })
}

/// Returns the part with this number between delimiters. A negative number counts from the end.
fn split_part<'a>(text: Cow<'a, str>, delimiter: &str, number: i64) -> Result<Cow<'a, str>, SqlError> {
    let Some(index) = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX).checked_sub(1) else {
        return Err(invalid("field position must not be zero"));
    };
    let part = match delimiter.is_empty() {
        true => (index == 0).then_some(&*text),
        false if number > 0 => text.split(delimiter).nth(index),
        false => text.rsplit(delimiter).nth(index),
    };
    Ok(Cow::Owned(part.unwrap_or_default().to_owned()))
}

fn character(number: i64) -> Result<String, SqlError> {
    let limit = |message: String| Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    match u32::try_from(number) {
        Err(_) => Err(invalid("character number must be positive")),
        Ok(0) => limit("null character not permitted".to_owned()),
        Ok(number) if number > 0x0010_FFFF => limit(format!("requested character too large for encoding: {number}")),
        Ok(number) => match char::from_u32(number) {
            Some(character) => Ok(character.to_string()),
            None => limit(format!("requested character not valid for encoding: {number}")),
        },
    }
}

/// Implements `quote_literal`: returns a text as an SQL string literal.
pub(super) fn quote_literal(text: &str) -> String {
    let escaped = text.replace('\'', "''").replace('\\', "\\\\");
    let prefix = if text.contains('\\') { "E" } else { "" };
    format!("{prefix}'{escaped}'")
}

fn digest<D: Digest>(bytes: &[u8]) -> Value<'static> {
    Value::Bytea(D::digest(bytes).to_vec().into())
}

fn md5(bytes: &[u8]) -> Value<'static> {
    let digest = Md5::digest(bytes);
    Value::Text(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

fn unknown_encoding(name: &str) -> SqlError {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD);

/// The number of characters in a line of base64.
const LINE: usize = 76;

fn encode(bytes: &[u8], format: &str, memory: MemoryLimit) -> Result<String, SqlError> {
    check_size(bytes.len().saturating_mul(4), memory)?;
    match format.to_ascii_lowercase().as_str() {
        "hex" => {
            let mut out = BytesMut::new();
            encode_text(&Value::Bytea(bytes.into()), Type::Bytea, Styles::default(), &mut out);
            Ok(String::from_utf8_lossy(out.get(2..).unwrap_or_default()).into_owned())
        }
        "base64" => {
            let whole = BASE64.encode(bytes);
            let mut out = String::with_capacity(whole.len() + whole.len() / LINE);
            for (at, character) in whole.chars().enumerate() {
                if at > 0 && at % LINE == 0 {
                    out.push('\n');
                }
                out.push(character);
            }
            Ok(out)
        }
        "escape" => {
            let mut out = String::new();
            for &byte in bytes {
                match byte {
                    b'\\' => out.push_str("\\\\"),
                    0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
                    byte => out.push(byte as char),
                }
            }
            Ok(out)
        }
        _ => Err(unknown_encoding(format)),
    }
}

fn decode(text: &str, format: &str) -> Result<Vec<u8>, SqlError> {
    let bytes = |literal: String| match decode_text(Type::Bytea, &literal, Styles::default())? {
        Value::Bytea(bytes) => Ok(bytes.into_owned()),
        _ => Ok(Vec::new()),
    };
    match format.to_ascii_lowercase().as_str() {
        "hex" => bytes(format!("\\x{text}")),
        "base64" => decode_base64(text),
        // A leading \x would be read as hexadecimal.
        "escape" if !text.starts_with("\\x") => bytes(text.to_owned()),
        "escape" => Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")),
        _ => Err(unknown_encoding(format)),
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>, SqlError> {
    let packed: String = text.chars().filter(|character| !matches!(character, ' ' | '\t' | '\n' | '\r')).collect();
    let is_symbol = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=');
    if let Some(wrong) = packed.chars().find(|&character| !is_symbol(character)) {
        return Err(invalid(format!("invalid symbol \"{wrong}\" found while decoding base64 sequence")));
    }
    if let Some(at) = packed.trim_end_matches('=').find('=').filter(|at| at % 4 < 2) {
        return Err(invalid(format!("unexpected \"{}\" while decoding base64 sequence", &packed[at..=at])));
    }
    BASE64.decode(packed).map_err(|_| {
        invalid("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")
    })
}
