//! Functions of regular expressions, in PostgreSQL's syntax of advanced regular expressions.
//!
//! Patterns are translated for the crate `regex`, whose matching time is proportional to the text and the pattern. It
//! supports no back-references and no look-around, so patterns with these are refused. Of several alternatives it
//! matches the first, while PostgreSQL matches the longest. The difference affects the texts that are replaced and
//! extracted, but not whether a text matches.

use super::argument::{Arguments, integer_of, invalid, text_of};
use super::function::{Function, Overload, PatternFunction};
use crate::error::unsupported;
use crate::memory::check_size;
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::{ArrayBuilder, Element, Type, Value};
use regex::{Captures, Regex, RegexBuilder};
use std::cell::RefCell;

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int4, Text};
    const TEXTS: Type = Type::Array(Element::Text);
    macro_rules! overloads {
        ($($function:expr, ($($argument:expr),*) -> $result:expr);* $(;)?) => {
            const {
                &[$(Overload {
                    function: Function::Pattern($function), arguments: &[$($argument),*], result: $result,
                }),*]
            }
        };
    }
    macro_rules! matches {
        ($ignore_case:literal, $negated:literal) => {
            overloads![
                PatternFunction::Matches { ignore_case: $ignore_case, negated: $negated }, (Text, Text) -> Bool;
                PatternFunction::Matches { ignore_case: $ignore_case, negated: $negated },
                    (Type::Char(1), Text) -> Bool;
            ]
        };
    }
    match name {
        "~" => matches!(false, false),
        "~*" => matches!(true, false),
        "!~" => matches!(false, true),
        "!~*" => matches!(true, true),
        "similar to" => overloads![
            PatternFunction::Similar, (Text, Text, Text) -> Bool;
            PatternFunction::Similar, (Type::Char(1), Text, Text) -> Bool;
        ],
        "regexp_like" => overloads![
            PatternFunction::Like, (Text, Text) -> Bool;
            PatternFunction::Like, (Text, Text, Text) -> Bool;
        ],
        "regexp_count" => overloads![
            PatternFunction::Count, (Text, Text) -> Int4;
            PatternFunction::Count, (Text, Text, Int4) -> Int4;
            PatternFunction::Count, (Text, Text, Int4, Text) -> Int4;
        ],
        "regexp_replace" => overloads![
            PatternFunction::Replace, (Text, Text, Text) -> Text;
            PatternFunction::Replace, (Text, Text, Text, Text) -> Text;
        ],
        "regexp_match" => overloads![
            PatternFunction::Parts, (Text, Text) -> TEXTS;
            PatternFunction::Parts, (Text, Text, Text) -> TEXTS;
        ],
        "regexp_split_to_array" => overloads![
            PatternFunction::Split, (Text, Text) -> TEXTS;
            PatternFunction::Split, (Text, Text, Text) -> TEXTS;
        ],
        "substring" | "regexp_substr" => overloads![PatternFunction::Extract, (Text, Text) -> Text],
        _ => &[],
    }
}

impl PatternFunction {
    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(self, arguments: Arguments<'a>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
        let [first, second, third, fourth, ..] = &arguments;
        let (text, pattern) = (text_of(first), text_of(second));
        match self {
            PatternFunction::Matches { ignore_case, negated } => {
                let options = Options { ignore_case, ..Options::default() };
                with_regex(pattern, options, |regex| Ok(Value::Bool(regex.is_match(text) != negated)))
            }
            PatternFunction::Similar => {
                let pattern = similar(pattern, text_of(third))?;
                with_regex(&pattern, Options::default(), |regex| Ok(Value::Bool(regex.is_match(text))))
            }
            PatternFunction::Like => {
                let options = Options::read(text_of(third), "regexp_like")?;
                with_regex(pattern, options, |regex| Ok(Value::Bool(regex.is_match(text))))
            }
            PatternFunction::Count => {
                let options = Options::read(text_of(fourth), "regexp_count")?;
                let start = match third {
                    Value::Null => 1,
                    other => integer_of(other),
                };
                let Some(skipped) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) else {
                    let message = format!("invalid value for parameter \"start\": {start}");
                    return Err(invalid(message));
                };
                let from = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
                with_regex(pattern, options, |regex| {
                    let mut found = 0;
                    let mut at = from;
                    while at <= text.len()
                        && let Some(matched) = regex.find_at(text, at)
                    {
                        found += 1;
                        at = if matched.is_empty() { next_boundary(text, matched.end()) } else { matched.end() };
                    }
                    Ok(Value::Int4(found))
                })
            }
            PatternFunction::Replace => {
                let options = Options::read(text_of(fourth), "")?;
                with_regex(pattern, options, |regex| replace(text, regex, text_of(third), options.global, memory))
                    .map(|text| Value::Text(text.into()))
            }
            PatternFunction::Extract => with_regex(pattern, Options::default(), |regex| {
                let found = regex.captures(text);
                // A part in parentheses if there is one, else all that matches.
                let part = found.and_then(|found| if found.len() > 1 { found.get(1) } else { found.get(0) });
                Ok(part.map_or(Value::Null, |part| Value::Text(part.as_str().to_owned().into())))
            }),
            PatternFunction::Parts => {
                let options = Options::read(text_of(third), "regexp_match")
                    .map_err(|error| error.hint("Use the regexp_matches function instead."))?;
                with_regex(pattern, options, |regex| {
                    Ok(regex.captures(text).map_or(Value::Null, |found| parts(&found)))
                })
            }
            PatternFunction::Split => {
                let options = Options::read(text_of(third), "regexp_split_to_array")?;
                with_regex(pattern, options, |regex| Ok(split(text, regex)))
            }
        }
    }
}

/// Returns the matches of a pattern in a text one after the other, as `regexp_matches` does: an array of the
/// parenthesised parts of each match. Without the option `g`, there is at most one match.
///
/// # Errors
/// 2201B if the pattern is wrong, 22023 if an option is.
pub(crate) fn matches_of<'t>(
    text: &'t str,
    pattern: &str,
    letters: &str,
) -> Result<impl FnMut() -> Option<Value<'static>> + 't, SqlError> {
    let options = Options::read(letters, "")?;
    let regex = with_regex(pattern, options, |regex| Ok(regex.clone()))?;
    let mut next = Some(0);
    Ok(move || {
        let found = regex.captures_at(text, next.filter(|at| *at <= text.len())?);
        next = found
            .as_ref()
            .and_then(|found| found.get(0))
            .filter(|_| options.global)
            .map(|whole| if whole.is_empty() { next_boundary(text, whole.end()) } else { whole.end() });
        found.map(|found| parts(&found))
    })
}

/// Whether a part of a text matches a pattern of jsonpath's `like_regex`, with its flags.
///
/// # Errors
/// 2201B if the pattern is wrong.
pub(crate) fn like_regex(text: &str, pattern: &str, flags: &str) -> Result<bool, SqlError> {
    with_regex(pattern, of_flags(flags), |regex| Ok(regex.is_match(text)))
}

/// Checks a pattern of jsonpath's `like_regex`.
///
/// # Errors
/// 2201B if the pattern is wrong.
pub(crate) fn like_regex_is_valid(pattern: &str, flags: &str) -> Result<(), SqlError> {
    with_regex(pattern, of_flags(flags), |_| Ok(()))
}

fn of_flags(flags: &str) -> Options {
    let literal = flags.contains('q');
    Options {
        global: false,
        ignore_case: flags.contains('i'),
        anchors_lines: flags.contains('m') && !literal,
        stops_at_lines: !flags.contains('s') && !literal,
        literal,
    }
}

/// Returns the texts that the parts in parentheses match, or all that matches if there are no such parts.
fn parts(found: &Captures<'_>) -> Value<'static> {
    let mut array = ArrayBuilder::new(Element::Text);
    for part in found.iter().skip(usize::from(found.len() > 1)) {
        array.push(&part.map_or(Value::Null, |part| Value::text(part.as_str())));
    }
    Value::Array(array.finish())
}

/// Splits a text at the matches of a regex. An empty match does not split the text at its start, at its end or where
/// the previous match ended.
fn split(text: &str, regex: &Regex) -> Value<'static> {
    let (mut array, mut at, mut end) = (ArrayBuilder::new(Element::Text), 0, 0);
    while at <= text.len()
        && let Some(matched) = regex.find_at(text, at)
    {
        if matched.start() < text.len() && matched.end() > end {
            array.push(&Value::text(&text[end..matched.start()]));
            end = matched.end();
        }
        at = if matched.is_empty() { next_boundary(text, matched.end()) } else { matched.end() };
    }
    array.push(&Value::text(&text[end..]));
    Value::Array(array.finish())
}

fn next_boundary(text: &str, at: usize) -> usize {
    (at + 1..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(if at < text.len() {
        text.len()
    } else {
        at + 1
    })
}

/// The options that say how a pattern is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    global: bool,
    ignore_case: bool,
    /// Whether `^` and `$` match at the ends of lines.
    anchors_lines: bool,
    /// Whether `.` matches no line feed.
    stops_at_lines: bool,
    /// Whether the pattern is the text itself.
    literal: bool,
}

impl Options {
    /// Reads options from their letters. If `function` is not empty, it does not know `g`, and the error names it.
    fn read(letters: &str, function: &str) -> Result<Self, SqlError> {
        let mut options = Self::default();
        for letter in letters.chars() {
            match letter {
                'g' if function.is_empty() => options.global = true,
                'g' => return Err(invalid(format!("{function}() does not support the \"global\" option"))),
                'i' => options.ignore_case = true,
                'c' => options.ignore_case = false,
                'n' | 'm' => (options.anchors_lines, options.stops_at_lines) = (true, true),
                's' => (options.anchors_lines, options.stops_at_lines) = (false, false),
                'q' => options.literal = true,
                't' => {}
                'b' | 'e' | 'p' | 'w' | 'x' => {
                    return Err(unsupported(&format!("regular expression option \"{letter}\"")));
                }
                other => return Err(invalid(format!("invalid regular expression option: \"{other}\""))),
            }
        }
        Ok(options)
    }
}

/// The number of patterns that a worker keeps translated. The last used one is at the end.
const KEPT: usize = 16;

std::thread_local! {
    static TRANSLATED: RefCell<Vec<(String, Options, Regex)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `act` with the regular expression of a pattern, which is translated if it is not kept.
fn with_regex<T>(
    pattern: &str,
    options: Options,
    act: impl FnOnce(&Regex) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    TRANSLATED.with_borrow_mut(|kept| {
        let options = Options { global: false, ..options };
        match kept.iter().rposition(|(known, with, _)| known == pattern && *with == options) {
            Some(at) if at + 1 == kept.len() => {}
            Some(at) => {
                let known = kept.remove(at);
                kept.push(known);
            }
            None => {
                let regex = translate(pattern, options)?;
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                kept.push((pattern.to_owned(), options, regex));
            }
        }
        let (.., regex) = kept.last().expect("it was put there");
        act(regex)
    })
}

fn translate(pattern: &str, mut options: Options) -> Result<Regex, SqlError> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
        (rest, options.literal) = (literal, true);
    } else {
        rest = rest.strip_prefix("***:").unwrap_or(rest);
    }
    if let Some(inside) = rest.strip_prefix("(?")
        && let Some((letters, after)) = inside.split_once(')')
        && !letters.is_empty()
        && letters.bytes().all(|letter| letter.is_ascii_lowercase())
    {
        let embedded = Options::read(&letters.replace('g', "\0"), "")?;
        options = Options { ignore_case: options.ignore_case || embedded.ignore_case, ..embedded };
        rest = after;
    }
    let translated = match options.literal {
        true => regex::escape(rest),
        false => Translator { rest: rest.chars().peekable(), out: String::new(), open: 0 }.translate()?,
    };
    let built = RegexBuilder::new(&translated)
        .case_insensitive(options.ignore_case)
        .multi_line(options.anchors_lines)
        .dot_matches_new_line(!options.stops_at_lines)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => bad("regular expression is too complex"),
        error => {
            let text = error.to_string();
            bad(match text {
                text if text.contains("repetition quantifier") || text.contains("invalid repetition count") => {
                    "invalid repetition count(s)"
                }
                text if text.contains("invalid range") || text.contains("character class range") => {
                    "invalid character range"
                }
                text if text.contains("repetition operator") => "quantifier operand invalid",
                text if text.contains("class not found") => "invalid character class",
                text if text.contains("nest") => "regular expression is too complex",
                _ => "invalid regexp (reg version 0.8)",
            })
        }
    })
}

fn bad(what: &str) -> SqlError {
    SqlError::new(state::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

/// The translation of a pattern from PostgreSQL's syntax to that of `regex`.
struct Translator<'p> {
    rest: std::iter::Peekable<std::str::Chars<'p>>,
    out: String,
    /// The number of parentheses that are open.
    open: usize,
}

impl Translator<'_> {
    fn translate(mut self) -> Result<String, SqlError> {
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => {
                    self.open += 1;
                    self.group()?;
                }
                ')' => {
                    self.open = self.open.checked_sub(1).ok_or_else(|| bad("parentheses () not balanced"))?;
                    self.out.push(')');
                }
                '{' if !self.rest.peek().is_some_and(char::is_ascii_digit) => self.out.push_str("\\{"),
                '*' | '+' if matches!(self.rest.peek(), Some('*' | '+')) => {
                    return Err(bad("quantifier operand invalid"));
                }
                other => self.out.push(other),
            }
        }
        if self.open > 0 {
            return Err(bad("parentheses () not balanced"));
        }
        Ok(self.out)
    }

    fn group(&mut self) -> Result<(), SqlError> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        match self.rest.next() {
            Some(':') => self.out.push_str("?:"),
            Some('=' | '!' | '<') => return Err(unsupported("a regular expression that looks ahead or behind")),
            _ => return Err(bad("quantifier operand invalid")),
        }
        Ok(())
    }

    /// Translates an escape, after its backslash.
    fn escape(&mut self) -> Result<(), SqlError> {
        let character = self.rest.next().ok_or_else(|| bad("invalid escape \\ sequence"))?;
        match character {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'A' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                self.out.extend(['\\', character]);
            }
            'm' => self.out.push_str("\\b{start}"),
            'M' => self.out.push_str("\\b{end}"),
            'y' => self.out.push_str("\\b"),
            'Y' => self.out.push_str("\\B"),
            'Z' => self.out.push_str("\\z"),
            'B' => self.out.push_str("\\\\"),
            'b' => self.out.push_str("\\x08"),
            'e' => self.out.push_str("\\x1b"),
            '0' => self.out.push_str("\\x00"),
            'x' => self.code(16),
            'u' => self.code(4),
            'U' => self.code(8),
            '1'..='9' => return Err(unsupported("a back-reference in a regular expression")),
            character if character.is_alphanumeric() => return Err(bad("invalid escape \\ sequence")),
            character => self.literal(character),
        }
        Ok(())
    }

    /// Translates the number of a character, which has up to so many hexadecimal digits.
    fn code(&mut self, digits: usize) {
        self.out.push_str("\\x{");
        for _ in 0..digits {
            let Some(digit) = self.rest.next_if(char::is_ascii_hexdigit) else { break };
            self.out.push(digit);
        }
        self.out.push('}');
    }

    fn literal(&mut self, character: char) {
        let mut bytes = [0; 4];
        self.out.push_str(&regex::escape(character.encode_utf8(&mut bytes)));
    }

    /// Translates a class of characters, after its bracket.
    fn class(&mut self) -> Result<(), SqlError> {
        let unbalanced = || bad("brackets [] not balanced");
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        if self.rest.next_if_eq(&']').is_some() {
            self.out.push_str("\\]");
        }
        loop {
            match self.rest.next().ok_or_else(unbalanced)? {
                ']' => break,
                '[' if self.rest.next_if_eq(&':').is_some() => {
                    self.out.push_str("[:");
                    loop {
                        match self.rest.next().ok_or_else(unbalanced)? {
                            ']' => break,
                            character => self.out.push(character),
                        }
                    }
                    self.out.push(']');
                    widen(&mut self.out);
                }
                '[' if matches!(self.rest.peek(), Some('.' | '=')) => {
                    return Err(unsupported("a collating element in a regular expression"));
                }
                '\\' => self.escape()?,
                character @ ('[' | '&' | '~') => self.out.extend(['\\', character]),
                character => self.out.push(character),
            }
        }
        self.out.push(']');
        Ok(())
    }
}

/// Widens a class of letters, at the end of `out`, to all letters, not only those of ASCII.
fn widen(out: &mut String) {
    const WIDER: [(&str, &str); 4] =
        [("[:alpha:]", "\\p{L}"), ("[:alnum:]", "\\p{L}\\p{Nd}"), ("[:upper:]", "\\p{Lu}"), ("[:lower:]", "\\p{Ll}")];
    if let Some((name, wider)) = WIDER.iter().find(|(name, _)| out.ends_with(name)) {
        out.truncate(out.len() - name.len());
        out.push_str(wider);
    }
}

fn replace(text: &str, regex: &Regex, template: &str, global: bool, memory: MemoryLimit) -> Result<String, SqlError> {
    let mut out = String::new();
    let mut done = 0;
    for found in regex.captures_iter(text).take(if global { usize::MAX } else { 1 }) {
        let whole = found.get_match();
        out.push_str(&text[done..whole.start()]);
        fill(template, &found, &mut out);
        check_size(out.len(), memory)?;
        done = whole.end();
    }
    out.push_str(&text[done..]);
    check_size(out.len(), memory)?;
    Ok(out)
}

/// Appends a replacement to `out`: `\1` to `\9` are parts in parentheses, `\&` is all that matches, `\\` a backslash.
fn fill(template: &str, found: &Captures<'_>, out: &mut String) {
    let mut characters = template.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        match characters.next() {
            Some(digit @ '1'..='9') => out.push_str(part(digit as usize - '0' as usize)),
            Some('&') => out.push_str(part(0)),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
}

/// Translates a pattern of `SIMILAR TO` to a regular expression for the whole text.
fn similar(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let mut marks = escape.chars();
    let mark = marks.next();
    if marks.next().is_some() {
        let error = SqlError::new(state::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        if mark == Some(character) {
            match characters.next() {
                Some('"') => return Err(unsupported("a separator in the pattern of SIMILAR TO")),
                Some(next) if next.is_alphanumeric() => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => {}
            }
            continue;
        }
        match character {
            '\\' => out.push_str("\\\\"),
            '[' => {
                in_class = true;
                out.push('[');
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            character if in_class => out.push(character),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' => out.extend(['\\', character]),
            character => out.push(character),
        }
    }
    out.push_str(")$");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_translated() {
        let cases = [
            (r"a{2}b{", r"a{2}b\{"),
            (r"\mword\M", r"\b{start}word\b{end}"),
            (r"[]a&&b]", r"[\]a\&\&b]"),
            (r"[[:alpha:]_]+", r"[\p{L}_]+"),
            (r"\u00e4|\.", r"\x{00e4}|\."),
            (r"(?:a)(b)", r"(?:a)(b)"),
        ];
        for (pattern, expected) in cases {
            let translator = Translator { rest: pattern.chars().peekable(), out: String::new(), open: 0 };
            assert_eq!(translator.translate().as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let cases = [
            ("a(b", "invalid regular expression: parentheses () not balanced"),
            ("a)b", "invalid regular expression: parentheses () not balanced"),
            ("[ab", "invalid regular expression: brackets [] not balanced"),
            ("*a", "invalid regular expression: quantifier operand invalid"),
            ("a**", "invalid regular expression: quantifier operand invalid"),
            ("a\\", "invalid regular expression: invalid escape \\ sequence"),
            ("a{2,1}", "invalid regular expression: invalid repetition count(s)"),
            (r"(a)\1", "a back-reference in a regular expression is not supported"),
            ("(?=a)", "a regular expression that looks ahead or behind is not supported"),
        ];
        for (pattern, expected) in cases {
            let message = translate(pattern, Options::default()).map_err(|error| error.message);
            assert_eq!(message.err().as_deref(), Some(expected), "{pattern}");
        }
    }
}
