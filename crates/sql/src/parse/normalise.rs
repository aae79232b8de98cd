//! A statement's text with its literals taken out, which is the key of its plan in the plan cache.
//!
//! Each number and plain string that may stand as a parameter becomes `$1`, `$2`, …. The kinds of the literals are part
//! of the key, because a plan for `id = 5` is not one for `id = 5.0`. Some literals must not become parameters:
//! positions in ORDER BY and GROUP BY, lengths in type names, typed literals (`date '2020-01-01'`), strings of the
//! other kinds. These stay in the text, and so in the key; so do the literals in the expressions and conditions of
//! indexes, since a plan can use such an index only if it knows them. A literal that stays there without need costs
//! time but is never wrong.

use super::lex::{Token, TokenKind, string_value};
use hotrow_storage::{Type, Value};
use std::collections::HashSet;

/// The greatest length in bytes and the greatest number of literals of a text that is normalised.
const MAX_TEXT: usize = 4096;
const MAX_LITERALS: usize = 128;

/// The literals of a statement, taken out.
#[derive(Clone, Debug, Default)]
pub struct Normalised {
    /// The text with parameters, one blank between tokens.
    pub text: String,
    /// The kinds of the literals, a letter each: `i`nt4, `b`igint, `n`umeric, `s`tring.
    pub kinds: String,
    /// The values of the literals.
    pub values: Vec<Value<'static>>,
}

impl Normalised {
    /// Returns the types of the parameters. A string has `None`, since its type depends on its place in the statement.
    pub fn types(&self) -> Vec<Option<Type>> {
        let ty = |kind| match kind {
            b'i' => Some(Type::Int4),
            b'b' => Some(Type::Int8),
            b'n' => Some(Type::Numeric(None)),
            _ => None,
        };
        self.kinds.bytes().map(ty).collect()
    }

    /// Takes the literals out of a statement with these tokens, except for those in `kept`. Returns `false` if its plan
    /// is not to be cached.
    pub fn fill(&mut self, sql: &str, tokens: &[Token], kept: Option<&HashSet<String>>) -> bool {
        self.text.clear();
        self.kinds.clear();
        self.values.clear();
        let [first, .., last] = tokens else { return false };
        let cached =
            ["select", "insert", "update", "delete", "merge", "values", "call"].iter().any(|word| first.is(sql, word));
        if !cached || last.end - first.start > MAX_TEXT {
            return false;
        }
        let mut positional = false;
        for (index, token) in tokens.iter().enumerate() {
            let before = index.checked_sub(1).map(|at| &tokens[at]);
            match token.kind {
                TokenKind::Parameter => return false,
                TokenKind::Number | TokenKind::String
                    if !positional
                        && may_become_parameter(sql, tokens, index)
                        && kept.is_none_or(|kept| !kept.contains(token.text(sql))) =>
                {
                    if !self.take(token.text(sql), token.kind) {
                        return false;
                    }
                    continue;
                }
                // The expressions of grouping sets are found in the select list by their literals.
                TokenKind::Word if positional && ["rollup", "cube", "sets"].iter().any(|word| token.is(sql, word)) => {
                    return false;
                }
                TokenKind::Word => positional = is_positional(sql, token, positional),
                _ => {}
            }
            // Symbols keep their neighbourhood: `< =` is not `<=`, and `a .b` need not be told from `a.b`.
            if before.is_some_and(|before| before.end != token.start || is_wordy(before.kind) && is_wordy(token.kind)) {
                self.text.push(' ');
            }
            self.text.push_str(token.text(sql));
        }
        true
    }

    fn take(&mut self, text: &str, kind: TokenKind) -> bool {
        let (letter, value) = match kind {
            TokenKind::String => ('s', Value::Text(string_value(text).into())),
            _ => match crate::types::number_literal(text) {
                // With a minus before it, this is the least integer, and one digit too large without.
                _ if matches!(text, "2147483648" | "9223372036854775808") => return false,
                Some(value @ Value::Int4(_)) => ('i', value),
                Some(value @ Value::Int8(_)) => ('b', value),
                Some(value @ Value::Numeric(_)) => ('n', value),
                Some(_) => return false,
                None => return false,
            },
        };
        self.kinds.push(letter);
        self.values.push(value);
        self.text.push_str(" $");
        self.text.push_str(&self.values.len().to_string());
        self.values.len() <= MAX_LITERALS
    }
}

fn is_wordy(kind: TokenKind) -> bool {
    !matches!(kind, TokenKind::Symbol(_))
}

/// Whether numbers at this token are positions. They are after ORDER and GROUP, until a clause in which they are values
/// again; `positional` is the state before the token.
fn is_positional(sql: &str, token: &Token, positional: bool) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| token.is(sql, word));
    if any(&["order", "group", "distinct"]) {
        return true;
    }
    positional && !any(&["limit", "offset", "where", "having"])
}

/// Whether a literal may become a parameter, which depends on the tokens before and after it.
fn may_become_parameter(sql: &str, tokens: &[Token], index: usize) -> bool {
    let Some(before) = index.checked_sub(1).map(|at| &tokens[at]) else { return false };
    // Adjacent strings on two lines are one string, which the parser has to judge.
    let after_is_string = tokens.get(index + 1).is_some_and(|token| token.kind == TokenKind::String);
    match before.kind {
        _ if after_is_string => false,
        TokenKind::Symbol(b'(') if tokens[index].kind == TokenKind::Number => {
            let name = index.checked_sub(2).map(|at| &tokens[at]);
            !name.is_some_and(|name| TYPES_WITH_LENGTH.iter().any(|ty| name.is(sql, ty)))
        }
        // The scale in `numeric(10, 2)`.
        TokenKind::Symbol(b',') if tokens[index].kind == TokenKind::Number => {
            let name = index.checked_sub(4).map(|at| &tokens[at]);
            !name.is_some_and(|name| TYPES_WITH_LENGTH.iter().any(|ty| name.is(sql, ty)))
        }
        // The sequence that the string names belongs to the plan, which locks its sequences before it runs.
        TokenKind::Symbol(b'(') if tokens[index].kind == TokenKind::String => {
            let name = index.checked_sub(2).map(|at| &tokens[at]);
            !name.is_some_and(|name| ["nextval", "currval", "setval"].iter().any(|function| name.is(sql, function)))
        }
        TokenKind::Symbol(b'.' | b':' | b'[') => false,
        TokenKind::Symbol(_) => true,
        TokenKind::Word => KEYWORDS_BEFORE_VALUES.iter().any(|word| before.is(sql, word)),
        _ => false,
    }
}

const TYPES_WITH_LENGTH: [&str; 11] =
    ["varchar", "char", "character", "varying", "numeric", "decimal", "dec", "bpchar", "bit", "float", "timestamp"];

const KEYWORDS_BEFORE_VALUES: [&str; 23] = [
    "select",
    "where",
    "and",
    "or",
    "not",
    "in",
    "like",
    "ilike",
    "between",
    "then",
    "else",
    "when",
    "case",
    "returning",
    "limit",
    "offset",
    "is",
    "from",
    "having",
    "all",
    "for",
    "values",
    "set",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_indexes_stay() {
        let (sql, mut tokens) = ("select a from t where b = 'open' and c = 'x' and d = 5 and e = 6", Vec::new());
        super::super::lex::tokenize(sql, &mut tokens).expect("tokens");
        let kept = HashSet::from(["'open'".to_owned(), "6".to_owned()]);
        let mut normalised = Normalised::default();
        assert!(normalised.fill(sql, &tokens, Some(&kept)));
        assert_eq!(normalised.text, "select a from t where b = 'open' and c = $1 and d = $2 and e = 6");
    }

    fn check(sql: &str, text: &str, kinds: &str) {
        let mut tokens = Vec::new();
        super::super::lex::tokenize(sql, &mut tokens).expect("tokens");
        let mut normalised = Normalised::default();
        let cached = normalised.fill(sql, &tokens, None);
        let seen = if cached { (normalised.text.as_str(), normalised.kinds.as_str()) } else { ("", "") };
        assert_eq!(seen, (text, kinds), "{sql}");
    }

    #[test]
    fn literals_become_parameters_where_that_is_safe() {
        let cases = [
            ("SELECT abalance FROM t WHERE aid = 17;", "SELECT abalance FROM t WHERE aid = $1;", "i"),
            ("select -5, 3000000000, 1.5", "select - $1, $2, $3", "ibn"),
            ("insert into t values('a''b',1)", "insert into t values( $1, $2)", "si"),
            ("select 1 /* 2 */ -- 3", "select $1", "i"),
            ("select \"1\" from t1 where a='x'", "select \"1\" from t1 where a= $1", "s"),
            ("select a from t order by 1 limit 2", "select a from t order by 1 limit $1", "i"),
            ("select a::varchar(10), cast(b as numeric(5,2))", "select a::varchar(10), cast(b as numeric(5,2))", ""),
            ("select date '2020-01-01'", "select date '2020-01-01'", ""),
            ("select E'a' || $$b$$", "select E'a' || $$b$$", ""),
            ("select a + 1 from t group by rollup(a + 1)", "", ""),
            ("select a<=1 from t", "select a<= $1 from t", "i"),
            ("select $1", "", ""),
            ("create table t (a varchar(5))", "", ""),
            ("begin", "", ""),
        ];
        for (sql, text, kinds) in cases {
            check(sql, text, kinds);
        }
    }
}
