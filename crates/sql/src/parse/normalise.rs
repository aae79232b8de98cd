//! A statement's text with parameters in place of its literals, by which its plan is found in the plan cache.
//!
//! Each number and plain string that may stand as a parameter becomes `$1`, `$2`, …. The kinds of the literals are part
//! of the key, because a plan for `id = 5` is not one for `id = 5.0`. Some literals must not become parameters:
//! positions in ORDER BY and GROUP BY, lengths in type names, typed literals (`date '2020-01-01'`), strings of the
//! other kinds. These stay in the text, and so in the key; so do the literals in the expressions and conditions of
//! indexes, since a plan can use such an index only if it knows them. A literal that stays there without need costs
//! time but is never wrong.

use super::lex::{Token, TokenKind, string_value};
use hotrow_storage::{Type, Value};

/// The greatest length in bytes and the greatest number of literals of a text that is normalised.
const MAX_TEXT: usize = 4096;
const MAX_LITERALS: usize = 128;

/// A statement's text with parameters in place of literals, and the literals.
#[derive(Clone, Debug, Default)]
pub struct Normalised {
    /// The text with parameters. Blanks and comments between two tokens become one blank, and a blank is before each
    /// parameter.
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

    /// Takes the literals out of a statement with these tokens, except for those of which `is_kept` returns true.
    /// Returns `false` if the plan is not to be cached; the contents of `self` have no meaning then.
    pub fn fill(&mut self, sql: &str, tokens: &[Token], is_kept: &dyn Fn(&str) -> bool) -> bool {
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
                    if !positional && may_become_parameter(sql, tokens, index) && !is_kept(token.text(sql)) =>
                {
                    if !self.take(token.text(sql), token.kind) {
                        return false;
                    }
                    continue;
                }
                // The select list is searched for the expressions of grouping sets, and they must have the same
                // literals.
                TokenKind::Word if positional && ["rollup", "cube", "sets"].iter().any(|word| token.is(sql, word)) => {
                    return false;
                }
                TokenKind::Word => positional = is_positional(sql, token, positional),
                _ => {}
            }
            // Whether a blank stands beside a symbol is part of the key, since `< =` is not `<=`. So `a .b` and `a.b`
            // have two keys.
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
                // With a minus before it, this number is the least integer; without, it is one greater than the
                // greatest.
                _ if matches!(text, "2147483648" | "9223372036854775808") => return false,
                Ok(value @ Value::Int4(_)) => ('i', value),
                Ok(value @ Value::Int8(_)) => ('b', value),
                Ok(value @ Value::Numeric(_)) => ('n', value),
                Ok(_) | Err(_) => return false,
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

/// Whether the numbers after this token are positions in the select list. They are positions after ORDER, GROUP and
/// DISTINCT, until a clause in which they are values again. `positional` is the state before the token.
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
    // Two strings side by side are left to the parser, which refuses them.
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
        let mut normalised = Normalised::default();
        assert!(normalised.fill(sql, &tokens, &|literal| ["'open'", "6"].contains(&literal)));
        assert_eq!(normalised.text, "select a from t where b = 'open' and c = $1 and d = $2 and e = 6");
    }

    fn check(sql: &str, text: &str, kinds: &str) {
        let mut tokens = Vec::new();
        super::super::lex::tokenize(sql, &mut tokens).expect("tokens");
        let mut normalised = Normalised::default();
        let cached = normalised.fill(sql, &tokens, &|_| false);
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
