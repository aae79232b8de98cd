//! Reads a path from its text.

use super::{Comparison, METHODS, Node, Path, Step};
use crate::error::unsupported;
use crate::json::{normalise, write_string};
use crate::{SqlError, depth, state};

/// A token of a path's text.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A word that is not in quotes.
    Word(String),
    /// A string, or a key in quotes.
    Text(String),
    /// A number, in the notation of JSON.
    Number(String),
    /// `$name`, with or without quotes around the name.
    Variable(String),
    /// An operator or a punctuation mark.
    Symbol(&'static str),
}

/// The operators and punctuation marks. A longer one precedes its prefixes.
const SYMBOLS: [&str; 31] = [
    "**", "==", "!=", "<>", "<=", ">=", "&&", "||", "$", "@", ".", "*", "[", "]", "(", ")", "{", "}", ",", "?", "!",
    "<", ">", "+", "-", "/", "%", "=", "&", "|", ":",
];

/// The maximum number of operators in a path. Functions that walk the tree of a path recurse at most this deep.
const MOST_OPERATORS: usize = 1000;

/// Parses a path.
///
/// # Errors
/// 42601 or 22P02 if the text is no path, 2201B if a pattern in it is wrong, 0A000 if it uses an unsupported feature,
/// 54001 if it is nested too deeply.
pub(super) fn path(text: &str) -> Result<Path, SqlError> {
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, message));
    }
    let mut reader = Reader { text, tokens, at: 0, filters: 0, subscripts: 0, operators: 0 };
    let strict = reader.takes("strict");
    if !strict {
        reader.takes("lax");
    }
    let root = reader.or()?;
    match reader.tokens.get(reader.at) {
        None => Ok(Path { strict, root }),
        Some(_) => Err(reader.unexpected()),
    }
}

/// Splits a text into tokens, each with its position in the text.
fn tokens(text: &str) -> Result<Vec<(Token, usize)>, SqlError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_ascii_whitespace() {
            at += 1;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or_else(|| wrong("unexpected end of comment", None))?;
            at += end + 4;
        } else if first == '"' {
            let (string, length) = string(rest)?;
            tokens.push((Token::Text(string), at));
            at += length;
        } else if rest.starts_with("$\"") {
            let (string, length) = string(&text[at + 1..])?;
            tokens.push((Token::Variable(string), at));
            at += 1 + length;
        } else if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
            let (number, length) = number(rest)?;
            tokens.push((Token::Number(number), at));
            at += length;
        } else if first == '$' && rest[1..].starts_with(is_letter) {
            let length = word(&rest[1..]);
            tokens.push((Token::Variable(rest[1..=length].to_owned()), at));
            at += 1 + length;
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            tokens.push((Token::Symbol(symbol), at));
            at += symbol.len();
        } else {
            let (word, length) = escaped_word(rest)?;
            tokens.push((Token::Word(word), at));
            at += length;
        }
    }
    Ok(tokens)
}

/// Whether a character may stand in a word.
fn is_letter(character: char) -> bool {
    !character.is_ascii_whitespace() && !"?%$.[]{}()|&!=<>@#,*:-+/\"\\".contains(character)
}

fn word(text: &str) -> usize {
    text.find(|character| !is_letter(character)).unwrap_or(text.len())
}

/// Reads a word, in which characters may be escaped. Returns the word, and its length in the text.
fn escaped_word(text: &str) -> Result<(String, usize), SqlError> {
    let (mut out, mut at) = (String::new(), 0);
    while let Some(character) = text[at..].chars().next() {
        if character == '\\' {
            let length = escape(&text[at..], &mut out)?;
            at += length;
        } else if is_letter(character) {
            out.push(character);
            at += character.len_utf8();
        } else {
            break;
        }
    }
    if at == 0 {
        return Err(wrong("syntax error", text.chars().next().map(String::from).as_deref()));
    }
    Ok((out, at))
}

/// Reads a string in quotes. Returns the string, and its length in the text.
fn string(text: &str) -> Result<(String, usize), SqlError> {
    let (mut out, mut at) = (String::new(), 1);
    while let Some(character) = text[at..].chars().next() {
        match character {
            '"' => return Ok((out, at + 1)),
            '\\' => at += escape(&text[at..], &mut out)?,
            other => {
                out.push(other);
                at += other.len_utf8();
            }
        }
    }
    Err(wrong("unterminated quoted string", None))
}

/// Returns the beginning of a wrong `\x` or `\u` escape for an error message: its digits, and at most six characters in
/// all.
fn begun(text: &str) -> &str {
    let end = text[2..].find(|next: char| !next.is_ascii_hexdigit() && next != '{').map_or(text.len(), |end| 2 + end);
    &text[..end.min(6)]
}

/// Reads an escape and appends its character to `out`. Returns the length of the escape in the text.
fn escape(text: &str, out: &mut String) -> Result<usize, SqlError> {
    let digits = |from: usize, to: usize| {
        let digits = text.get(from..to).filter(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let (code, length) = match text[1..].chars().next() {
        Some('b') => (8, 2),
        Some('f') => (12, 2),
        Some('n') => (10, 2),
        Some('r') => (13, 2),
        Some('t') => (9, 2),
        Some('v') => (11, 2),
        Some('x') => (digits(2, 4).ok_or_else(|| wrong("invalid hex character sequence", Some(begun(text))))?, 4),
        Some('u') if text[2..].starts_with('{') => {
            let end = text.find('}').filter(|end| (4..=9).contains(end));
            let end = end.ok_or_else(|| wrong("invalid unicode sequence", Some(begun(text))))?;
            (digits(3, end).ok_or_else(|| wrong("invalid unicode sequence", Some(begun(text))))?, end + 1)
        }
        Some('u') => {
            let first = digits(2, 6).ok_or_else(|| wrong("invalid unicode sequence", Some(begun(text))))?;
            match (first, text.get(6..8), digits(8, 12)) {
                (0xD800..0xDC00, Some("\\u"), Some(second @ 0xDC00..0xE000)) => {
                    (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12)
                }
                _ => (first, 6),
            }
        }
        Some(other) => (u32::from(other), 1 + other.len_utf8()),
        None => return Err(wrong("unexpected end after backslash", None)),
    };
    if code == 0 {
        let error = SqlError::new(state::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
        return Err(error.detail("\\u0000 cannot be converted to text."));
    }
    out.push(char::from_u32(code).ok_or_else(|| {
        let error = SqlError::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath");
        error.detail("Unicode high surrogate must not follow a high surrogate.")
    })?);
    Ok(length)
}

/// Reads a number. Returns the number in the notation of JSON, and its length in the text.
fn number(text: &str) -> Result<(String, usize), SqlError> {
    let digits =
        |from: usize| text[from..].find(|next: char| !next.is_ascii_digit()).map_or(text.len(), |at| from + at);
    let whole = digits(0);
    let mut end = whole;
    if text[end..].starts_with('.') && !text[..whole].is_empty() || whole == 0 {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent == end + 1 + sign {
            return Err(wrong("trailing junk after numeric literal", Some(&text[..exponent])));
        }
        end = exponent;
    }
    let leads = whole > 1 && text.starts_with('0');
    let junk = text[end..].chars().next().filter(|next| is_letter(*next));
    if leads || junk.is_some() {
        let shown = &text[..end + junk.filter(|_| !leads).map_or(0, char::len_utf8)];
        return Err(wrong("trailing junk after numeric literal", Some(shown)));
    }
    let written = &text[..end];
    let mut json = if whole == 0 { format!("0{written}") } else { written.to_owned() };
    // JSON wants a digit behind the point.
    if let Some(point) =
        json.find('.').filter(|point| !json[point + 1..].starts_with(|next: char| next.is_ascii_digit()))
    {
        json.remove(point);
    }
    Ok((normalise(&json)?, end))
}

/// Returns the error 42601 for a text that is no path. `near` is the place of the error, or `None` for the end of the
/// text.
fn wrong(what: &str, near: Option<&str>) -> SqlError {
    let message = match near {
        Some(near) => format!("{what} at or near \"{near}\" of jsonpath input"),
        None => format!("{what} at end of jsonpath input"),
    };
    SqlError::new(state::SYNTAX_ERROR, message)
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    /// The number of filters around the present token.
    filters: usize,
    /// The number of subscripts around the present token.
    subscripts: usize,
    /// The number of operators that have been read.
    operators: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(known)) if *known == symbol)
    }

    fn is_word(&self, ahead: usize, wanted: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some((Token::Word(word), _)) if word.eq_ignore_ascii_case(wanted))
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), SqlError> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> SqlError {
        let near = self.tokens.get(self.at).map(|(token, start)| {
            let end = self.tokens.get(self.at + 1).map_or(self.text.len(), |(_, next)| *next);
            match token {
                Token::Symbol(symbol) => (*symbol).to_owned(),
                Token::Word(_) | Token::Number(_) | Token::Variable(_) | Token::Text(_) => {
                    self.text[*start..end].trim_end().to_owned()
                }
            }
        });
        wrong("syntax error", near.as_deref())
    }

    fn or(&mut self) -> Result<Node, SqlError> {
        depth::check()?;
        let mut left = self.and()?;
        while self.is("||") {
            self.check_predicate(&left)?;
            self.operator()?;
            let right = self.and()?;
            self.check_predicate(&right)?;
            left = Node::Or(Box::new((left, right)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, SqlError> {
        let mut left = self.predicate()?;
        while self.is("&&") {
            self.check_predicate(&left)?;
            self.operator()?;
            let right = self.predicate()?;
            self.check_predicate(&right)?;
            left = Node::And(Box::new((left, right)));
        }
        Ok(left)
    }

    /// Skips an operator and counts it.
    ///
    /// # Errors
    /// 54001 if the path has too many operators.
    fn operator(&mut self) -> Result<(), SqlError> {
        self.at += 1;
        self.operators += 1;
        if self.operators > MOST_OPERATORS { Err(depth::too_deep()) } else { Ok(()) }
    }

    /// Checks that an expression is a predicate. Otherwise fails at the present token.
    fn check_predicate(&self, node: &Node) -> Result<(), SqlError> {
        if is_predicate(node) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Returns an operand of an operator for values. Fails at the present token if the operand is a predicate.
    fn value(&self, node: Node) -> Result<Node, SqlError> {
        if is_predicate(&node) { Err(self.unexpected()) } else { Ok(node) }
    }

    fn predicate(&mut self) -> Result<Node, SqlError> {
        if self.is("!") {
            self.operator()?;
            if !self.is("(") && !self.is_word(0, "exists") {
                return Err(self.unexpected());
            }
            let operand = self.primary()?;
            self.check_predicate(&operand)?;
            return Ok(Node::Not(Box::new(operand)));
        }
        let left = self.sum()?;
        let comparison = match self.peek() {
            Some(Token::Symbol("==" | "=")) => Comparison::Equal,
            Some(Token::Symbol("!=" | "<>")) => Comparison::NotEqual,
            Some(Token::Symbol("<")) => Comparison::Less,
            Some(Token::Symbol("<=")) => Comparison::LessEqual,
            Some(Token::Symbol(">")) => Comparison::Greater,
            Some(Token::Symbol(">=")) => Comparison::GreaterEqual,
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("starts") => return self.starts_with(left),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("like_regex") => return self.like_regex(left),
            _ => return Ok(left),
        };
        let left = self.value(left)?;
        self.operator()?;
        let right = self.sum()?;
        let right = self.value(right)?;
        Ok(Node::Compare(comparison, Box::new((left, right))))
    }

    fn starts_with(&mut self, left: Node) -> Result<Node, SqlError> {
        let left = self.value(left)?;
        self.operator()?;
        if !self.takes("with") {
            return Err(self.unexpected());
        }
        let initial = match self.peek().cloned() {
            Some(Token::Text(text)) => literal(&text),
            Some(Token::Variable(name)) => Node::Variable(name),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(Node::StartsWith(Box::new((left, initial))))
    }

    fn like_regex(&mut self, left: Node) -> Result<Node, SqlError> {
        let left = self.value(left)?;
        self.operator()?;
        let Some(Token::Text(pattern)) = self.peek().cloned() else { return Err(self.unexpected()) };
        self.at += 1;
        let mut flags = String::new();
        if self.takes("flag") {
            let Some(Token::Text(letters)) = self.peek().cloned() else { return Err(self.unexpected()) };
            self.at += 1;
            flags = letters;
        }
        if let Some(unknown) = flags.chars().find(|flag| !"ismxq".contains(*flag)) {
            let error = SqlError::new(state::SYNTAX_ERROR, "invalid input syntax for type jsonpath");
            let detail = format!("Unrecognized flag character \"{unknown}\" in LIKE_REGEX predicate.");
            return Err(error.detail(detail));
        }
        if flags.contains('x') && !flags.contains('q') {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        super::compare::check_regex(&pattern, &flags)?;
        Ok(Node::LikeRegex(Box::new(left), pattern, flags))
    }

    fn sum(&mut self) -> Result<Node, SqlError> {
        let mut left = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.arithmetic(&left) {
            self.operator()?;
            let right = self.product()?;
            left = Node::Arithmetic(sign, Box::new((left, self.value(right)?)));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, SqlError> {
        let mut left = self.signed()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.arithmetic(&left) {
            self.operator()?;
            let right = self.signed()?;
            left = Node::Arithmetic(operator, Box::new((left, self.value(right)?)));
        }
        Ok(left)
    }

    /// Returns the arithmetic operator that follows the operand `left`, or `None` if there is none.
    fn arithmetic(&self, left: &Node) -> Option<char> {
        match self.peek() {
            Some(Token::Symbol(symbol @ ("+" | "-" | "*" | "/" | "%"))) if !is_predicate(left) => symbol.chars().next(),
            _ => None,
        }
    }

    fn signed(&mut self) -> Result<Node, SqlError> {
        depth::check()?;
        let sign = match self.peek() {
            Some(Token::Symbol("+")) => '+',
            Some(Token::Symbol("-")) => '-',
            _ => return self.primary(),
        };
        self.operator()?;
        let operand = self.signed()?;
        Ok(match self.value(operand)? {
            Node::Literal(number) if !number.starts_with(['"', 't', 'f', 'n']) => {
                match (sign, number.strip_prefix('-')) {
                    ('+', _) => Node::Literal(number),
                    (_, Some(positive)) => Node::Literal(positive.to_owned()),
                    (_, None) => Node::Literal(normalise(&format!("-{number}"))?),
                }
            }
            operand => Node::Sign(sign, Box::new(operand)),
        })
    }

    /// Reads an operand, with the accessors behind it.
    fn primary(&mut self) -> Result<Node, SqlError> {
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected()) };
        let mut is_closed = false;
        let base = match token {
            Token::Symbol("(") => {
                self.at += 1;
                let inner = self.or()?;
                self.expect(")")?;
                if is_predicate(&inner) && self.takes("is") {
                    if !self.takes("unknown") {
                        return Err(self.unexpected());
                    }
                    return Ok(Node::IsUnknown(Box::new(inner)));
                }
                is_closed = is_predicate(&inner);
                inner
            }
            Token::Symbol("$") => self.taken(Node::Root),
            Token::Symbol("@") if self.filters == 0 => {
                return Err(SqlError::new(state::SYNTAX_ERROR, "@ is not allowed in root expressions"));
            }
            Token::Symbol("@") => self.taken(Node::Current),
            Token::Variable(name) => self.taken(Node::Variable(name)),
            Token::Number(number) => self.taken(Node::Literal(number)),
            Token::Text(text) => self.taken(literal(&text)),
            Token::Word(word) if ["null", "true", "false"].contains(&word.as_str()) => self.taken(Node::Literal(word)),
            Token::Word(word) if word.eq_ignore_ascii_case("last") => {
                if self.subscripts == 0 {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
                self.taken(Node::Last)
            }
            Token::Word(word) if word.eq_ignore_ascii_case("exists") => {
                self.at += 1;
                self.expect("(")?;
                let inner = self.or()?;
                self.expect(")")?;
                return Ok(Node::Exists(Box::new(inner)));
            }
            _ => return Err(self.unexpected()),
        };
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        Ok(match base {
            base if steps.is_empty() => base,
            Node::Steps(inner, mut before) if !is_closed => {
                before.extend(steps);
                Node::Steps(inner, before)
            }
            base => Node::Steps(Box::new(base), steps),
        })
    }

    fn taken(&mut self, node: Node) -> Node {
        self.at += 1;
        node
    }

    /// Reads an accessor. Returns `None` if the present token does not begin one.
    fn step(&mut self) -> Result<Option<Step>, SqlError> {
        if self.take("?") {
            self.expect("(")?;
            self.filters += 1;
            let condition = self.or()?;
            self.filters -= 1;
            self.check_predicate(&condition)?;
            self.expect(")")?;
            return Ok(Some(Step::Filter(condition)));
        }
        if self.take("[") {
            return self.subscripts().map(Some);
        }
        if !self.take(".") {
            return Ok(None);
        }
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected()) };
        self.at += 1;
        Ok(Some(match token {
            Token::Symbol("*") => Step::AnyKey,
            Token::Symbol("**") => self.levels()?,
            Token::Text(key) => Step::Key(key),
            Token::Word(name) => {
                let method = METHODS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
                if self.is("(") {
                    if name.eq_ignore_ascii_case("datetime") {
                        return Err(unsupported("the method datetime() of jsonpath"));
                    }
                    let Some((_, method)) = method else { return Err(self.unexpected()) };
                    self.at += 1;
                    self.expect(")")?;
                    return Ok(Some(Step::Method(*method)));
                }
                Step::Key(name)
            }
            Token::Number(_) | Token::Symbol(_) | Token::Variable(_) => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        }))
    }

    /// Reads the levels of `.**`, such as `{1 to last}`. Without levels, `.**` means all of them.
    fn levels(&mut self) -> Result<Step, SqlError> {
        if !self.take("{") {
            return Ok(Step::Deep(Some(0), None));
        }
        let from = self.level()?;
        let to = if self.takes("to") { self.level()? } else { from };
        self.expect("}")?;
        Ok(Step::Deep(from, to))
    }

    fn level(&mut self) -> Result<Option<u32>, SqlError> {
        if self.takes("last") {
            return Ok(None);
        }
        let Some(Token::Number(number)) = self.peek() else { return Err(self.unexpected()) };
        let level = number.parse().map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(Some(level))
    }

    fn subscripts(&mut self) -> Result<Step, SqlError> {
        if self.is("*") && matches!(self.tokens.get(self.at + 1), Some((Token::Symbol("]"), _))) {
            self.at += 2;
            return Ok(Step::AnyElement);
        }
        self.subscripts += 1;
        let mut list = Vec::new();
        loop {
            let from = self.sum()?;
            let from = self.value(from)?;
            let to = match self.takes("to") {
                true => {
                    let to = self.sum()?;
                    Some(self.value(to)?)
                }
                false => None,
            };
            list.push((from, to));
            if !self.take(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Step::Elements(list))
    }
}

fn literal(text: &str) -> Node {
    let mut json = String::new();
    write_string(text, &mut json);
    Node::Literal(json)
}

fn is_predicate(node: &Node) -> bool {
    matches!(
        node,
        Node::Compare(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Not(_)
            | Node::IsUnknown(_)
            | Node::Exists(_)
            | Node::StartsWith(_)
            | Node::LikeRegex(..)
    )
}
