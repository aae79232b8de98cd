//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which sqlparser does not know. They are read as `FOR UPDATE` and
//! `FOR SHARE`, which lock more.

use super::window::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The words of the clauses behind FOR, and how many of these words, from the first on, are left out.
const STRENGTHS: [(&[&str], usize); 2] = [(&["no", "key", "update"], 2), (&["key", "share"], 1)];

/// Takes the words that sqlparser does not know out of the clauses.
pub(super) fn take_strengths(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at].token, "for") {
            let is_word = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
            let words: Vec<usize> = (at + 1..tokens.len()).filter(is_word).take(3).collect();
            let is_written = |written: &[&str]| {
                written.len() <= words.len()
                    && written.iter().zip(&words).all(|(text, &at)| is(&tokens[at].token, text))
            };
            let left_out = STRENGTHS.iter().find(|(written, _)| is_written(written)).map_or(0, |(_, count)| *count);
            words[..left_out].iter().rev().for_each(|&word| drop(tokens.remove(word)));
        }
        at += 1;
    }
}
