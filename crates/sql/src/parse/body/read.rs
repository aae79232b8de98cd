//! Reads a body from its text: blocks, declarations, and the statements of SQL between them.
//!
//! The frame around the statements of SQL is read by hand, and each of these statements by sqlparser. If a part is
//! taken out of a statement (INTO), blanks take its place, so that positions stay true.

use super::{
    Block, BodySyntax, Declaration, Executed, Expression, Fragment, StatementSyntax, Step, StepKind, TargetSyntax,
    VariableSyntax, VariableType, Written, shifted,
};
use crate::error::unsupported;
use crate::parse::cursor::Cursor;
use crate::parse::lex::{Token, TokenKind, character_position, tokenize};
use crate::parse::syntax::{check_depth, parse_ast};
use crate::{SqlError, state};

/// The greatest number of tokens in a body. A thousand tokens take about a megabyte of syntax.
const MOST_TOKENS: usize = 16 << 10;

/// The kind of a body, on which its syntax depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) enum BodyKind {
    /// The body of a procedure in a string: a list of statements, or a block.
    Quoted,
    /// The body of a procedure after BEGIN ATOMIC.
    Atomic,
    /// The body of DO: a block, which may have statements of any kind.
    Anonymous,
}

/// Reads a body. `offset` is the number of characters before it in the client's text, if that is known.
pub(in crate::parse) fn read_body(text: &str, offset: Option<u32>, kind: BodyKind) -> Result<BodySyntax, SqlError> {
    let mut tokens = Vec::new();
    let body = tokenize(text, &mut tokens)
        .and_then(|()| check_length(&tokens))
        .and_then(|()| check_depth(text, &tokens))
        .and_then(|()| Reader::read(text, &tokens, offset, kind));
    body.map_err(|error| match (error.position, offset) {
        (Some(position), Some(offset)) => error.at(position + offset),
        _ => SqlError { position: None, ..error },
    })
}

/// Checks the number of a body's tokens. The check of the whole statement does not cover it, since the body is one
/// token there.
fn check_length(tokens: &[Token]) -> Result<(), SqlError> {
    if tokens.len() <= MOST_TOKENS {
        return Ok(());
    }
    let message = format!("a body can have at most {MOST_TOKENS} words and signs");
    Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message).hint("Divide it into several procedures."))
}

/// The reader of a body. Positions in its errors are positions in the body's own text.
pub(super) struct Reader<'b> {
    pub(super) text: &'b str,
    pub(super) cursor: Cursor<'b>,
    kind: BodyKind,
    /// The number of characters before the body in the client's text, if it is known.
    offset: Option<u32>,
    /// The blocks and loops around the present statement.
    pub(super) around: Vec<Around>,
    /// The place that the method `place` computed last, from which it computes the next.
    place: Place,
}

/// A block, a branch or a loop around a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Around {
    /// The label of the block or the loop.
    pub(super) label: Option<String>,
    /// Whether it is a loop, to which an EXIT or CONTINUE without a label may refer.
    pub(super) is_loop: bool,
    /// The names of its variables. The flag says whether the variable is a constant.
    names: Vec<(String, bool)>,
}

/// A place in a body. Places are computed in ascending order, each from the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The offset in bytes.
    offset: usize,
    /// The offset in characters.
    pub(super) characters: u32,
    /// The line, from one.
    pub(super) line: usize,
}

impl<'b> Reader<'b> {
    fn read(text: &'b str, tokens: &'b [Token], offset: Option<u32>, kind: BodyKind) -> Result<BodySyntax, SqlError> {
        let place = Place { offset: 0, characters: 0, line: 1 };
        let (cursor, around) = (Cursor::new(text, tokens), Vec::new());
        let mut reader = Self { text, cursor, kind, offset, around, place };
        let label = reader.label()?;
        let declarations = reader.declarations()?;
        let is_block = kind == BodyKind::Anonymous || label.is_some() || reader.cursor.follows(0, "begin");
        let block = if is_block && kind != BodyKind::Atomic {
            reader.block_after(label, declarations)?
        } else {
            reader.list_after(declarations)?
        };
        if kind == BodyKind::Atomic {
            reader.cursor.expect("end")?;
        }
        if is_block || kind == BodyKind::Atomic {
            reader.cursor.take_symbol(b';');
        }
        reader.cursor.expect_end()?;
        Ok(BodySyntax { block, text: text.to_owned(), is_quoted: kind != BodyKind::Atomic })
    }

    /// Whether the body is that of DO.
    pub(super) fn is_anonymous(&self) -> bool {
        self.kind == BodyKind::Anonymous
    }

    /// Reads statements without BEGIN and END around them.
    fn list_after(&mut self, declarations: Vec<Declaration<Written>>) -> Result<Block<Written>, SqlError> {
        let steps = self.within(None, false, names_of(&declarations), Self::steps)?;
        Ok(Block { declarations, steps, ..Block::default() })
    }

    /// Returns the place of the next token.
    pub(super) fn place(&mut self) -> Place {
        let offset = self.cursor.offset();
        let passed = &self.text[self.place.offset..offset];
        self.place.characters += character_position(passed, passed.len()) - 1;
        self.place.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.place.offset = offset;
        self.place
    }

    /// Reads `<<label>>`, if it is there.
    fn label(&mut self) -> Result<Option<String>, SqlError> {
        if !self.cursor.take_symbols(b"<<") {
            return Ok(None);
        }
        let label = self.cursor.name()?;
        self.cursor.expect_symbol(b'>')?;
        self.cursor.expect_symbol(b'>')?;
        Ok(Some(label))
    }

    fn block(&mut self, label: Option<String>) -> Result<Block<Written>, SqlError> {
        let declarations = self.declarations()?;
        self.block_after(label, declarations)
    }

    /// Reads a block from its BEGIN on.
    fn block_after(
        &mut self,
        label: Option<String>,
        mut declarations: Vec<Declaration<Written>>,
    ) -> Result<Block<Written>, SqlError> {
        self.cursor.expect("begin")?;
        if self.kind == BodyKind::Quoted && self.cursor.take("atomic") {
            declarations.extend(self.declarations()?);
        }
        self.within(label.clone(), false, names_of(&declarations), |reader| {
            let steps = reader.steps()?;
            let handlers = if reader.cursor.take("exception") { reader.handlers()? } else { Vec::new() };
            reader.cursor.expect("end")?;
            reader.end_label(label.as_deref())?;
            Ok(Block { label, declarations, steps, handlers })
        })
    }

    /// Calls `read` for the statements within a block, a branch or a loop with these variables.
    pub(super) fn within<R>(
        &mut self,
        label: Option<String>,
        is_loop: bool,
        names: Vec<(String, bool)>,
        read: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        // The outermost block is the body itself.
        if self.around.len() > crate::parse::syntax::MAX_DEPTH {
            let hint = format!("Blocks, branches and loops may nest {} deep.", crate::parse::syntax::MAX_DEPTH);
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(hint));
        }
        self.around.push(Around { label, is_loop, names });
        let result = read(self);
        self.around.pop();
        result
    }

    /// Reads the label after END, if there is one.
    pub(super) fn end_label(&mut self, label: Option<&str>) -> Result<(), SqlError> {
        if self.cursor.is_at_end() || self.cursor.follows_symbol(0, b";") {
            return Ok(());
        }
        let position = self.cursor.position();
        let found = self.cursor.name()?;
        match label {
            Some(label) if label == found => Ok(()),
            Some(label) => {
                let message = format!("end label \"{found}\" differs from block's label \"{label}\"");
                Err(SqlError::new(state::SYNTAX_ERROR, message).at(position))
            }
            None => {
                let message = format!("end label \"{found}\" specified for unlabeled block");
                Err(SqlError::new(state::SYNTAX_ERROR, message).at(position))
            }
        }
    }

    /// Whether a MERGE comes next, and not a variable of this name.
    fn is_merge(&self) -> bool {
        self.cursor.follows(0, "merge") && self.cursor.follows(1, "into")
    }

    /// Reads `DECLARE name type [:= value]; …`.
    fn declarations(&mut self) -> Result<Vec<Declaration<Written>>, SqlError> {
        const AFTER: [&str; 13] = [
            "begin", "select", "values", "with", "insert", "update", "delete", "call", "if", "set", "return", "end",
            "declare",
        ];
        let mut declarations = Vec::new();
        while self.cursor.take("declare") {
            while !self.cursor.is_at_end() && !AFTER.iter().any(|word| self.cursor.follows(0, word)) && !self.is_merge()
            {
                // `name :=` begins the first statement of a list.
                if self.cursor.follows_symbol(1, b":=") {
                    break;
                }
                let (position, declaration) = (self.cursor.position(), self.declaration()?);
                let name = &declaration.variable.name;
                if declarations.iter().any(|known: &Declaration<Written>| known.variable.name == *name) {
                    let message = format!("duplicate declaration at or near \"{name}\"");
                    return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
                }
                declarations.push(declaration);
            }
        }
        Ok(declarations)
    }

    fn declaration(&mut self) -> Result<Declaration<Written>, SqlError> {
        let (line, name) = (self.place().line, self.cursor.name()?);
        let constant = self.cursor.take("constant");
        if !constant && self.cursor.take("alias") {
            self.cursor.expect("for")?;
            let ty = VariableType::Alias(self.cursor.text_until(|token, _| token.is_symbol(b';'))?.trim().to_owned());
            self.cursor.expect_symbol(b';')?;
            return Ok(Declaration {
                line,
                variable: VariableSyntax { name, ty, constant: false, not_null: false },
                value: None,
            });
        }
        if ["cursor", "refcursor"].iter().any(|word| self.cursor.follows(0, word)) {
            return Err(unsupported("a cursor variable").at(self.cursor.position()));
        }
        let ty = self.variable_type()?;
        if self.cursor.take("collate") {
            self.cursor.dotted_name()?;
        }
        let not_null = self.cursor.take("not");
        if not_null {
            self.cursor.expect("null")?;
        }
        let colon = self.cursor.take_symbol(b':');
        let value = if self.cursor.take_symbol(b'=') || (!colon && self.cursor.take("default")) {
            Some(self.expression(|token, _| token.is_symbol(b';'))?)
        } else {
            None
        };
        if not_null && value.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
        }
        self.cursor.expect_symbol(b';')?;
        Ok(Declaration { line, variable: VariableSyntax { name, ty, constant, not_null }, value })
    }

    fn variable_type(&mut self) -> Result<VariableType, SqlError> {
        let position = self.cursor.position();
        let ends = |token: &Token, sql: &str| {
            matches!(token.kind, TokenKind::Symbol(b',' | b';' | b':' | b'='))
                || ["default", "not", "collate"].iter().any(|word| token.is(sql, word))
        };
        let text = self.cursor.text_until(ends)?;
        if text.eq_ignore_ascii_case("record") {
            return Ok(VariableType::Record);
        }
        if let Some((path, kind)) = text.rsplit_once('%') {
            let mut tokens = Vec::new();
            tokenize(path, &mut tokens)?;
            let parts = Cursor::new(path, &tokens).dotted_name()?;
            match kind.trim().to_ascii_lowercase().as_str() {
                "type" => return Ok(VariableType::OfColumn(parts)),
                "rowtype" => return Ok(VariableType::RowOf(parts)),
                _ => {}
            }
        }
        crate::parse::parse_type(&text).map(VariableType::Named).map_err(|error| error.at(position))
    }

    /// Reads statements up to a word that ends them.
    pub(super) fn steps(&mut self) -> Result<Vec<Step<Written>>, SqlError> {
        const ENDS: [&str; 6] = ["end", "else", "elsif", "elseif", "when", "exception"];
        let mut steps = Vec::new();
        while !self.cursor.is_at_end() && !ENDS.iter().any(|word| self.cursor.follows(0, word)) {
            let line = self.place().line;
            let kind = self.step()?;
            steps.push(Step { line, kind });
            // The last statement of a string needs no semicolon.
            if !self.cursor.take_symbol(b';') && !self.cursor.is_at_end() {
                return Err(self.cursor.unexpected());
            }
        }
        Ok(steps)
    }

    fn step(&mut self) -> Result<StepKind<Written>, SqlError> {
        if self.cursor.follows_symbol(0, b"<") {
            let label = self.label()?;
            return match self.cursor.peek_word().as_deref() {
                Some("declare" | "begin") => self.block(label).map(StepKind::Block),
                _ => self.looped(label)?.ok_or_else(|| self.cursor.unexpected()),
            };
        }
        if let Some(assignment) = self.assignment()? {
            return Ok(assignment);
        }
        let word = self.cursor.peek_word().unwrap_or_default();
        match word.as_str() {
            "declare" | "begin" => self.block(None).map(StepKind::Block),
            "select" | "values" | "with" | "insert" | "update" | "delete" | "merge" | "call" | "perform" => {
                self.statement(|token, _| token.is_symbol(b';')).map(StepKind::Run)
            }
            "execute" => self.dynamic(|token, _| token.is_symbol(b';')).map(StepKind::Run),
            "notify" | "listen" | "unlisten" => self.other().map(StepKind::Run),
            _ => match self.looped(None)? {
                Some(step) => Ok(step),
                None => match self.controlled(&word)? {
                    Some(step) => Ok(step),
                    None if self.kind == BodyKind::Anonymous => self.other().map(StepKind::Run),
                    None if REFUSED.contains(&word.as_str()) => {
                        let what = format!("{} in a procedure", word.to_uppercase());
                        Err(unsupported(&what).at(self.cursor.position()))
                    }
                    None => Err(self.cursor.unexpected()),
                },
            },
        }
    }

    /// Reads `a := value`, `a.b := value`, and in a procedure `SET a = value`, if one is next.
    fn assignment(&mut self) -> Result<Option<StepKind<Written>>, SqlError> {
        let sets = self.kind != BodyKind::Anonymous && self.cursor.take("set");
        let of_field = self.cursor.follows_symbol(1, b".") && self.cursor.follows_symbol(3, b":=");
        if !sets && !of_field && !self.cursor.follows_symbol(1, b":=") {
            if self.cursor.follows_symbol(1, b"[") {
                return Err(unsupported("an assignment to an element of an array").at(self.cursor.position()));
            }
            return Ok(None);
        }
        let position = self.cursor.position();
        let target = target(&mut self.cursor)?;
        self.check_target(&target).map_err(|error| error.at(position))?;
        self.cursor.take_symbol(b':');
        self.cursor.expect_symbol(b'=')?;
        let value = self.expression(|token, _| token.is_symbol(b';'))?;
        Ok(Some(StepKind::Assign(target, value)))
    }

    /// Reads a statement by sqlparser, with blanks in place of its INTO.
    pub(super) fn statement(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<StatementSyntax, SqlError> {
        let mut start = self.place();
        let performs = self.cursor.follows(0, "perform");
        let mut text = self.cursor.text_until(ends)?;
        if performs {
            text.replace_range(.."perform".len(), "SELECT");
            start.characters += ("perform".len() - "SELECT".len()) as u32;
        }
        let mut tokens = Vec::new();
        tokenize(&text, &mut tokens)?;
        let taken = if performs { Ok((Vec::new(), false)) } else { self.take_into(&mut text, &tokens) };
        let (into, strict) = taken.map_err(|error| shifted(error, start.characters))?;
        let statement = parse_ast(&text).map_err(|error| shifted(error, start.characters))?;
        let what = Executed::Sql { statement, text: self.fragment(text, start), performs };
        Ok(StatementSyntax { what, into, strict })
    }

    /// Reads `EXECUTE text [INTO [STRICT] variables] [USING values]`. The parts after the text may come in any order.
    pub(super) fn dynamic(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<StatementSyntax, SqlError> {
        self.cursor.expect("execute")?;
        let ends_part = |token: &Token, sql: &str| ends(token, sql) || token.is(sql, "into") || token.is(sql, "using");
        let text = self.expression(ends_part)?;
        let (mut into, mut strict, mut using) = (Vec::new(), false, Vec::new());
        loop {
            if into.is_empty() && self.cursor.take("into") {
                strict = self.cursor.take("strict");
                into = self.targets()?;
            } else if using.is_empty() && self.cursor.take("using") {
                using = self.expressions(ends_part)?;
            } else {
                return Ok(StatementSyntax { what: Executed::Dynamic { text, using }, into, strict });
            }
        }
    }

    /// Reads a statement of any other kind, which is kept as text. In a procedure it can only be NOTIFY, LISTEN or
    /// UNLISTEN.
    fn other(&mut self) -> Result<StatementSyntax, SqlError> {
        let start = self.place();
        let text = self.cursor.text_until(|token, _| token.is_symbol(b';'))?;
        let mut tokens = Vec::new();
        tokenize(&text, &mut tokens)?;
        crate::parse::parse(&text, &tokens).map_err(|error| shifted(error, start.characters))?;
        let what = Executed::Other(self.fragment(text, start));
        Ok(StatementSyntax { what, into: Vec::new(), strict: false })
    }

    pub(super) fn expression(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<Expression, SqlError> {
        let start = self.place();
        let text = self.cursor.text_until(ends)?;
        // PostgreSQL computes an expression as a query: it may have a FROM clause.
        let as_query = |error: SqlError| match crate::parse::parse_expr(&format!("(SELECT {text})")) {
            Ok(query) if text.to_ascii_lowercase().contains("from") => Ok(query),
            _ => Err(shifted(error, start.characters)),
        };
        let expr = crate::parse::parse_expr(&text).or_else(as_query)?;
        Ok(Expression { expr, text: self.fragment(text, start) })
    }

    /// Reads expressions with commas between them.
    pub(super) fn expressions(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<Vec<Expression>, SqlError> {
        let mut expressions = Vec::new();
        loop {
            expressions.push(self.expression(|token, sql| token.is_symbol(b',') || ends(token, sql))?);
            if !self.cursor.take_symbol(b',') {
                return Ok(expressions);
            }
        }
    }

    /// Reads variables with commas between them.
    pub(super) fn targets(&mut self) -> Result<Vec<TargetSyntax>, SqlError> {
        let mut cursor = self.cursor.clone();
        let targets = self.targets_at(&mut cursor)?;
        self.cursor = cursor;
        Ok(targets)
    }

    fn targets_at(&self, cursor: &mut Cursor<'_>) -> Result<Vec<TargetSyntax>, SqlError> {
        let mut targets = Vec::new();
        loop {
            let position = cursor.position();
            let target = target(cursor)?;
            self.check_target(&target).map_err(|error| error.at(position))?;
            targets.push(target);
            if !cursor.take_symbol(b',') {
                return Ok(targets);
            }
        }
    }

    /// Checks that a variable of DO, to which a value is assigned, is declared and is no constant. The variables of a
    /// procedure are checked when its body is bound, since the arguments are among them.
    pub(super) fn check_target(&self, target: &TargetSyntax) -> Result<(), SqlError> {
        if self.kind != BodyKind::Anonymous {
            return Ok(());
        }
        let mut names = self.around.iter().rev().flat_map(|around| &around.names);
        match names.find(|(name, _)| *name == target.name) {
            Some((name, true)) => {
                let message = format!("variable \"{name}\" is declared CONSTANT");
                Err(SqlError::new(state::ERROR_IN_ASSIGNMENT, message))
            }
            None if target.name != "found" => {
                let message = format!("\"{}\" is not a known variable", target.name);
                Err(SqlError::new(state::SYNTAX_ERROR, message))
            }
            _ => Ok(()),
        }
    }

    /// Takes `INTO [STRICT] a, b` out of a statement's text, leaves blanks in its place, and returns the variables and
    /// whether there was STRICT. The INTO of an INSERT, which names its table, stays.
    fn take_into(&self, text: &mut String, tokens: &[Token]) -> Result<(Vec<TargetSyntax>, bool), SqlError> {
        // The INTO of INSERT INTO and MERGE INTO names a table.
        let names_table = |at: usize| at > 0 && ["insert", "merge"].iter().any(|word| tokens[at - 1].is(text, word));
        let mut depth = 0_i32;
        let mut found = None;
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::Word if depth == 0 && token.is(text, "into") && !names_table(at) => {
                    found = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let Some(at) = found else { return Ok((Vec::new(), false)) };
        let mut cursor = Cursor::new(text, &tokens[at + 1..]);
        let strict = cursor.take("strict");
        let into = self.targets_at(&mut cursor)?;
        // Before the next token there is nothing but blanks and comments.
        let range = tokens[at].start..cursor.offset();
        let blanks: String =
            text[range.clone()].chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect();
        text.replace_range(range, &blanks);
        Ok((into, strict))
    }

    fn fragment(&self, text: String, start: Place) -> Fragment {
        Fragment { text, offset: self.offset.map(|offset| offset + start.characters) }
    }
}

/// The first words of the statements for which a procedure gets error 0A000, and not a syntax error.
const REFUSED: [&str; 21] = [
    "abort",
    "alter",
    "analyze",
    "comment",
    "commit",
    "copy",
    "create",
    "deallocate",
    "discard",
    "drop",
    "explain",
    "grant",
    "lock",
    "prepare",
    "release",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "truncate",
    "vacuum",
];

/// Reads a variable, or a field of one.
pub(super) fn target(cursor: &mut Cursor<'_>) -> Result<TargetSyntax, SqlError> {
    let name = cursor.name()?;
    let field = if cursor.take_symbol(b'.') { Some(cursor.name()?) } else { None };
    Ok(TargetSyntax { name, field })
}

/// Returns the names of declared variables. The flag says whether the variable is a constant.
fn names_of(declarations: &[Declaration<Written>]) -> Vec<(String, bool)> {
    declarations.iter().map(|known| (known.variable.name.clone(), known.variable.constant)).collect()
}
