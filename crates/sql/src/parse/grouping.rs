//! GROUP BY lists with GROUPING SETS, ROLLUP, CUBE, `()` and DISTINCT, of which sqlparser reads some forms only.
//!
//! The words are carried through the parser as calls and names that it does read. Each carried word is without quotes
//! and prints as the SQL that it stands for, so that the printed tree can be read again.

use super::window::is;
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The names of the calls that stand for GROUPING SETS, ROLLUP and CUBE.
const SETS: &str = "GROUPING SETS";
const ROLLUP: &str = "ROLLUP";
const CUBE: &str = "CUBE";

/// The name that stands for `()`.
const EMPTY: &str = "()";

/// The name that stands for DISTINCT. It prints with an empty set, which changes nothing as an item of GROUP BY.
const DISTINCT: &str = "DISTINCT ()";

/// The words that end a GROUP BY list.
const AFTER: [&str; 10] =
    ["having", "window", "order", "limit", "offset", "fetch", "for", "union", "intersect", "except"];

/// An item of GROUP BY, or of GROUPING SETS.
#[derive(Debug)]
pub enum GroupItem<'a> {
    /// DISTINCT before the list.
    Distinct,
    /// The set without expressions.
    Empty,
    /// GROUPING SETS, with its items.
    Sets(Vec<&'a Expr>),
    /// ROLLUP, with its items.
    Rollup(Vec<&'a Expr>),
    /// CUBE, with its items.
    Cube(Vec<&'a Expr>),
    /// An expression.
    Plain(&'a Expr),
}

impl<'a> GroupItem<'a> {
    /// Returns the meaning of an item of GROUP BY, in which a name or a call may be a carried word.
    pub fn of(item: &'a Expr) -> Self {
        match item {
            Expr::Identifier(ident) if is_carried(ident, EMPTY) => Self::Empty,
            Expr::Identifier(ident) if is_carried(ident, DISTINCT) => Self::Distinct,
            Expr::Function(function) => match (function.name.0.as_slice(), items(function)) {
                ([ObjectNamePart::Identifier(ident)], Some(items)) if is_carried(ident, SETS) => Self::Sets(items),
                ([ObjectNamePart::Identifier(ident)], Some(items)) if is_carried(ident, ROLLUP) => Self::Rollup(items),
                ([ObjectNamePart::Identifier(ident)], Some(items)) if is_carried(ident, CUBE) => Self::Cube(items),
                _ => Self::Plain(item),
            },
            _ => Self::Plain(item),
        }
    }
}

fn is_carried(ident: &Ident, name: &str) -> bool {
    ident.quote_style.is_none() && ident.value == name
}

/// Returns the arguments of a call, or `None` if the call has clauses that no list of GROUP BY has.
fn items(function: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let is_plain = list.clauses.is_empty()
        && list.duplicate_treatment.is_none()
        && function.within_group.is_empty()
        && function.filter.is_none()
        && function.over.is_none();
    let item = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref item)) => Some(item),
        _ => None,
    };
    list.args.iter().map(item).collect::<Option<_>>().filter(|_| is_plain)
}

/// The kind of the list in which a token stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A list of items of GROUP BY.
    Items,
    /// Anything else.
    Other,
}

/// Replaces the words of GROUP BY that sqlparser cannot read by words that carry them.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is(&token.token, "group")) {
        return;
    }
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let (mut outer, mut within) = (Vec::new(), Within::Other);
    let (mut begins, mut opens_sets) = (false, false);
    let mut at = 0;
    while at < tokens.len() {
        let follows = |offset: usize, wanted: &Token| tokens.get(at + offset).is_some_and(|next| next.token == *wanted);
        let word = |offset: usize, text: &str| tokens.get(at + offset).is_some_and(|next| is(&next.token, text));
        let is_start = std::mem::take(&mut begins) && within == Within::Items;
        let opens = std::mem::take(&mut opens_sets);
        match &tokens[at].token {
            Token::LParen if is_start && follows(1, &Token::RParen) => replace(tokens, at, 2, EMPTY),
            Token::LParen => {
                outer.push(within);
                (within, begins) = (if opens { Within::Items } else { Within::Other }, opens);
            }
            Token::RParen => within = outer.pop().unwrap_or(Within::Other),
            Token::Comma => begins = true,
            Token::SemiColon => within = Within::Other,
            _ if word(0, "group") && word(1, "by") => {
                (within, begins) = (Within::Items, true);
                at += 1;
                match tokens.get(at + 1).map(|next| &next.token) {
                    Some(next) if is(next, "all") => drop(tokens.remove(at + 1)),
                    Some(next) if is(next, "distinct") => {
                        // If the text was printed from a tree, an empty set follows DISTINCT, which belongs to it.
                        let printed = [Token::LParen, Token::RParen, Token::Comma];
                        let rest = tokens[at + 2..].iter().map(|token| &token.token);
                        let is_printed = rest.take(3).eq(printed.iter());
                        replace(tokens, at + 1, if is_printed { 4 } else { 1 }, DISTINCT);
                        let span = tokens[at + 1].span;
                        tokens.insert(at + 2, TokenWithSpan { token: Token::Comma, span });
                        at += 2;
                    }
                    _ => {}
                }
            }
            _ if is_start && word(0, "rollup") && follows(1, &Token::LParen) => replace(tokens, at, 1, ROLLUP),
            _ if is_start && word(0, "cube") && follows(1, &Token::LParen) => replace(tokens, at, 1, CUBE),
            _ if is_start && word(0, "grouping") && word(1, "sets") && follows(2, &Token::LParen) => {
                replace(tokens, at, 2, SETS);
                opens_sets = true;
            }
            token if within == Within::Items && AFTER.iter().any(|text| is(token, text)) => within = Within::Other,
            _ => {}
        }
        at += 1;
    }
}

/// Replaces some tokens by a word that carries them.
fn replace(tokens: &mut Vec<TokenWithSpan>, at: usize, count: usize, carried: &str) {
    let word = Word { value: carried.to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
    let span = tokens[at].span;
    tokens.splice(at..at + count, [TokenWithSpan { token: Token::Word(word), span }]);
}

#[cfg(test)]
mod tests {
    use super::super::parse_query;

    #[test]
    fn printed_lists_read_alike() {
        let cases = [
            ("a, b", "a, b"),
            ("grouping sets ((a, b), a, ())", "GROUPING SETS((a, b), a, ())"),
            ("Rollup(a, (b, c)), cube (d)", "ROLLUP(a, (b, c)), CUBE(d)"),
            (
                "grouping sets (rollup (a), grouping sets (cube (b), ()))",
                "GROUPING SETS(ROLLUP(a), GROUPING SETS(CUBE(b), ()))",
            ),
            (
                "rollup ((a + b) * 2) having rollup(1) order by cube (a)",
                "ROLLUP((a + b) * 2) HAVING rollup(1) ORDER BY cube(a)",
            ),
            ("all a, ()", "a, ()"),
            ("distinct a, rollup (b)", "DISTINCT (), a, ROLLUP(b)"),
            ("distinct ()", "DISTINCT (), ()"),
            ("(select c from u group by ())", "(SELECT c FROM u GROUP BY ())"),
        ];
        for (list, printed) in cases {
            let printed = format!("SELECT a FROM t GROUP BY {printed}");
            for text in [&format!("select a from t group by {list}"), &printed] {
                let query = parse_query(text).expect("a query");
                assert_eq!(query.to_string(), printed, "{text}");
            }
        }
    }
}
