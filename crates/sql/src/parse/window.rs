//! `EXCLUDE …` in the frames of windows, which sqlparser does not know.
//!
//! The clause is taken out before sqlparser reads the tokens. The last item of the window's ORDER BY carries it through
//! the parser: a word with a blank in it, which no client's text can contain.

use super::lex::{self, Token as Lexed};
use sqlparser::ast::{Expr, OrderByExpr};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The rows of a frame that a window function leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// No row is left out.
    Nothing,
    /// The current row.
    CurrentRow,
    /// The current row and its peers: the rows that are equal to it in the order.
    Group,
    /// The peers of the current row, but not the row itself.
    Ties,
}

/// The exclusions: the words in SQL, the carrying word in ORDER BY, and the meaning.
const EXCLUSIONS: [(&[&str], &str, Exclusion); 4] = [
    (&["current", "row"], "exclude current", Exclusion::CurrentRow),
    (&["group"], "exclude group", Exclusion::Group),
    (&["ties"], "exclude ties", Exclusion::Ties),
    (&["no", "others"], "exclude no", Exclusion::Nothing),
];

/// Whether a token is this word without quotes, in any case.
pub(super) fn is(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

fn plain(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
}

/// Takes `EXCLUDE …` out of the frames of windows.
pub(super) fn take_exclusions(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at].token, "exclude") {
            take_exclusion(tokens, at);
        }
        at += 1;
    }
}

/// Takes the exclusion that begins at the word `exclude` out of the tokens, if it ends a frame.
fn take_exclusion(tokens: &mut Vec<TokenWithSpan>, exclude: usize) {
    let words: Vec<usize> =
        (exclude + 1..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_))).take(3).collect();
    let found = EXCLUSIONS.iter().find(|(written, ..)| {
        let ends = words.get(written.len()).is_some_and(|&at| tokens[at].token == Token::RParen);
        ends && written.iter().zip(&words).all(|(text, &at)| is(&tokens[at].token, text))
    });
    let Some((written, carried, exclusion)) = found else { return };
    let (mut depth, mut frame, mut ordered) = (0, None, false);
    for at in (0..exclude).rev() {
        match &tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => break,
            Token::LParen => depth -= 1,
            token if depth == 0 => {
                if frame.is_none() && ["rows", "range", "groups"].iter().any(|units| is(token, units)) {
                    frame = Some(at);
                }
                ordered |= frame.is_some() && is(token, "order");
            }
            _ => {}
        }
    }
    let Some(frame) = frame else { return };
    let span = tokens[exclude].span;
    tokens.drain(exclude..=words[written.len() - 1]);
    let word = |value: &str, keyword| TokenWithSpan { token: plain(value, keyword), span };
    if *exclusion == Exclusion::Nothing {
        return;
    }
    let item = word(carried, Keyword::NoKeyword);
    let before = match ordered {
        true => vec![TokenWithSpan { token: Token::Comma, span }, item],
        false => vec![word("ORDER", Keyword::ORDER), word("BY", Keyword::BY), item],
    };
    tokens.splice(frame..frame, before);
}

/// Puts each carried exclusion of a query back in its frame. `text` is the query as sqlparser prints it.
pub fn restored(mut text: String) -> String {
    let mut tokens = Vec::new();
    while lex::tokenize(&text, &mut tokens).is_ok() {
        let Some(next) = restored_once(&text, &tokens) else { break };
        text = next;
        tokens.clear();
    }
    text
}

/// Puts the first carried exclusion of a query back in its frame. Returns `None` if the query carries no exclusion.
fn restored_once(text: &str, tokens: &[Lexed]) -> Option<String> {
    let carried = |at: &usize| {
        let [before, exclude, what, units] = &tokens[*at..*at + 4] else { return None };
        let is_item = before.is_symbol(b',') || before.is(text, "by");
        let is_frame = ["rows", "range", "groups"].iter().any(|name| units.is(text, name));
        let found = EXCLUSIONS.iter().find(|(written, ..)| what.is(text, written[0]));
        found.filter(|_| is_item && is_frame && exclude.is(text, "exclude"))
    };
    let (at, (written, ..)) =
        (1..tokens.len().saturating_sub(3)).find_map(|at| carried(&at).map(|exclusion| (at, exclusion)))?;
    let units = at + 3;
    let mut depth = 0;
    let end = tokens[units..].iter().find(|token| {
        if token.is_symbol(b'(') {
            depth += 1;
        } else if token.is_symbol(b')') {
            depth -= 1;
        }
        depth < 0
    })?;
    // The item goes with the comma before it, or with the words `ORDER BY` if it is the only one.
    let cut = if tokens[at].is_symbol(b',') { tokens[at].start } else { tokens[at - 1].start };
    let frame = &text[tokens[units].start..end.start];
    let blank = if text[..cut].ends_with(['(', ' ']) { "" } else { " " };
    let written = written.join(" ").to_uppercase();
    Some(format!("{}{blank}{frame} EXCLUDE {written}{}", &text[..cut], &text[end.start..]))
}

/// Splits a window's ORDER BY into its own items and the exclusion that it carries.
pub fn exclusion_of(order: &[OrderByExpr]) -> (&[OrderByExpr], Exclusion) {
    let Some((last, others)) = order.split_last() else { return (order, Exclusion::Nothing) };
    let Expr::Identifier(ident) = &last.expr else { return (order, Exclusion::Nothing) };
    let carries = |carried: &str| ident.quote_style.is_none() && ident.value == carried;
    match EXCLUSIONS.iter().find(|(_, carried, _)| carries(carried)) {
        Some((.., exclusion)) => (others, *exclusion),
        None => (order, Exclusion::Nothing),
    }
}
