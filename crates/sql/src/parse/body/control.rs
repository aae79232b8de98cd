//! Reads the control statements of a body: branches, loops, EXIT, CONTINUE, RETURN, RAISE, ASSERT, GET DIAGNOSTICS, and
//! the handlers of errors.

use super::condition::Condition;
use super::read::{Reader, target};
use super::{
    Block, Declaration, ErrorPart, Executed, Expression, Fact, Fragment, Handler, Leave, Loop, Raise, Rounds,
    StatementSyntax, Step, StepKind, TargetSyntax, VariableSyntax, VariableType, Written,
};
use crate::error::unsupported;
use crate::parse::lex::Token;
use crate::{SqlError, state};
use sqlparser::ast;

impl Reader<'_> {
    /// Reads a control statement other than a loop, if the next word, which is `word`, begins one.
    pub(super) fn controlled(&mut self, word: &str) -> Result<Option<StepKind<Written>>, SqlError> {
        const WORDS: [&str; 8] = ["if", "case", "exit", "continue", "return", "null", "raise", "assert"];
        let gets = self.cursor.follows(1, "diagnostics") || self.cursor.follows(2, "diagnostics");
        let is_known = WORDS.contains(&word) || (word == "get" && gets);
        if !is_known {
            return Ok(None);
        }
        self.cursor.advance();
        Ok(Some(match word {
            "if" => self.branches()?,
            "case" => self.cases()?,
            "exit" | "continue" => StepKind::Leave(self.leave(word == "continue")?),
            "return" => self.returned()?,
            "null" => StepKind::Null,
            "raise" => StepKind::Raise(self.raise()?),
            "assert" => {
                let condition = self.expression(|token, _| token.is_symbol(b',') || token.is_symbol(b';'))?;
                let message = self.cursor.take_symbol(b',');
                StepKind::Assert(condition, message.then(|| self.expression(ends_statement)).transpose()?)
            }
            _ => StepKind::Diagnose(self.facts()?),
        }))
    }

    /// Reads RETURN, RETURN NEXT or RETURN QUERY, whose first word was taken.
    fn returned(&mut self) -> Result<StepKind<Written>, SqlError> {
        let position = self.cursor.position();
        let wrong = |message: String| Err(SqlError::new(state::DATATYPE_MISMATCH, message).at(position));
        let (is_next, is_query) = (self.cursor.take("next"), self.cursor.take("query"));
        if self.is_anonymous() && (is_next || is_query) {
            let word = if is_next { "NEXT" } else { "QUERY" };
            return wrong(format!("cannot use RETURN {word} in a non-SETOF function"));
        }
        if is_query {
            let ends = |token: &Token, _: &str| token.is_symbol(b';');
            let query = if self.cursor.follows(0, "execute") { self.dynamic(ends)? } else { self.statement(ends)? };
            if !query.into.is_empty() {
                return Err(SqlError::new(state::SYNTAX_ERROR, "RETURN QUERY has no INTO").at(position));
            }
            return Ok(StepKind::Query(query));
        }
        let has_value = !self.cursor.is_at_end() && !self.cursor.follows_symbol(0, b";");
        if self.is_anonymous() && has_value {
            return wrong("RETURN cannot have a parameter in function returning void".to_owned());
        }
        let value = has_value.then(|| self.expression(ends_statement)).transpose()?.into_iter().collect();
        Ok(if is_next { StepKind::Next(value) } else { StepKind::Return(value) })
    }

    /// Reads IF, whose first word was taken.
    fn branches(&mut self) -> Result<StepKind<Written>, SqlError> {
        self.within(None, false, Vec::new(), |reader| {
            let mut arms = Vec::new();
            loop {
                let condition = reader.expression(|token, sql| token.is(sql, "then") || token.is_symbol(b';'))?;
                reader.cursor.expect("then")?;
                arms.push((condition, reader.steps()?));
                if !reader.cursor.take("elsif") && !reader.cursor.take("elseif") {
                    break;
                }
            }
            let otherwise = if reader.cursor.take("else") { reader.steps()? } else { Vec::new() };
            reader.cursor.expect("end")?;
            reader.cursor.expect("if")?;
            Ok(StepKind::If(arms, otherwise))
        })
    }

    /// Reads CASE, whose first word was taken. CASE becomes IF. If it has an operand, a block around the IF declares a
    /// variable whose first value is the operand.
    fn cases(&mut self) -> Result<StepKind<Written>, SqlError> {
        const OPERAND: &str = "case operand";
        let line = self.place().line;
        let operand = if self.cursor.follows(0, "when") {
            None
        } else {
            Some(self.expression(|token, sql| token.is(sql, "when") || token.is_symbol(b';'))?)
        };
        let branches = self.within(None, false, Vec::new(), |reader| {
            let mut arms = Vec::new();
            while reader.cursor.take("when") {
                let ends = |token: &Token, sql: &str| token.is(sql, "then") || token.is_symbol(b';');
                let condition = if operand.is_none() {
                    reader.expression(ends)?
                } else {
                    made(format!("\"{OPERAND}\" in ({})", reader.cursor.text_until(ends)?))?
                };
                reader.cursor.expect("then")?;
                arms.push((condition, reader.steps()?));
            }
            if arms.is_empty() {
                return Err(reader.cursor.unexpected());
            }
            let otherwise = if reader.cursor.take("else") {
                reader.steps()?
            } else {
                vec![Step { line, kind: StepKind::Raise(no_case()?) }]
            };
            reader.cursor.expect("end")?;
            reader.cursor.expect("case")?;
            Ok(StepKind::If(arms, otherwise))
        })?;
        let Some(operand) = operand else { return Ok(branches) };
        let (name, ty) = (OPERAND.to_owned(), VariableType::OfFirstValue);
        let variable = VariableSyntax { name, ty, constant: false, not_null: false };
        let declarations = vec![Declaration { line, variable, value: Some(operand) }];
        Ok(StepKind::Block(Block { declarations, steps: vec![Step { line, kind: branches }], ..Block::default() }))
    }

    fn is_in_loop(&self) -> bool {
        self.around.iter().any(|around| around.is_loop)
    }

    /// Reads a loop, if one is next.
    pub(super) fn looped(&mut self, label: Option<String>) -> Result<Option<StepKind<Written>>, SqlError> {
        let word = self.cursor.peek_word().unwrap_or_default();
        if !["loop", "while", "for", "foreach"].contains(&word.as_str()) {
            return Ok(None);
        }
        if word != "loop" {
            self.cursor.advance();
        }
        let rounds = match word.as_str() {
            "loop" => Rounds::Endless,
            "while" => Rounds::While(self.expression(begins_loop)?),
            "for" => self.rounds()?,
            _ => self.elements()?,
        };
        self.cursor.expect("loop")?;
        let names = match &rounds {
            Rounds::Range { variable, .. } => vec![(variable.name.clone(), false)],
            Rounds::Endless | Rounds::While(_) | Rounds::Rows(_) => Vec::new(),
        };
        self.within(label.clone(), true, names, |reader| {
            let steps = reader.steps()?;
            reader.cursor.expect("end")?;
            reader.cursor.expect("loop")?;
            reader.end_label(label.as_deref())?;
            Ok(Some(StepKind::Loop(Loop { label, rounds, steps })))
        })
    }

    /// Reads the head of FOR from its variables on.
    fn rounds(&mut self) -> Result<Rounds<Written>, SqlError> {
        let position = self.cursor.position();
        let into = self.loop_variables()?;
        self.cursor.expect("in")?;
        let reverse = self.cursor.take("reverse");
        if reverse || self.cursor.precedes(begins_range_end, "loop") {
            let [TargetSyntax { name, field: None }] = &into[..] else {
                let message = "integer FOR loop must have only one target variable";
                return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
            };
            let variable = variable(name, ast::DataType::Integer(None));
            let from = self.expression(|token, sql| begins_range_end(token, sql) || begins_loop(token, sql))?;
            self.cursor.expect_symbol(b'.')?;
            self.cursor.expect_symbol(b'.')?;
            let to = self.expression(|token, sql| token.is(sql, "by") || begins_loop(token, sql))?;
            let by = if self.cursor.take("by") { Some(self.expression(begins_loop)?) } else { None };
            return Ok(Rounds::Range { variable, from, to, by, reverse });
        }
        if into.iter().any(|target| self.check_target(target).is_err()) {
            let message = "loop variable of loop over rows must be a record variable or list of scalar variables";
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
        }
        let query = if self.cursor.follows(0, "execute") {
            self.dynamic(begins_loop)?
        } else if ["select", "values", "with", "insert", "update", "delete", "table"]
            .iter()
            .any(|word| self.cursor.follows(0, word))
        {
            self.statement(begins_loop)?
        } else {
            return Err(unsupported("a loop over a cursor").at(self.cursor.position()));
        };
        if !query.into.is_empty() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "INTO is not allowed in the query of a loop").at(position));
        }
        Ok(Rounds::Rows(StatementSyntax { into, ..query }))
    }

    /// Reads the variables of a loop, which the loop itself may declare.
    fn loop_variables(&mut self) -> Result<Vec<TargetSyntax>, SqlError> {
        let mut variables = vec![target(&mut self.cursor)?];
        while self.cursor.take_symbol(b',') {
            variables.push(target(&mut self.cursor)?);
        }
        Ok(variables)
    }

    /// Reads the head of FOREACH from its variables on. The elements of the array become the rows of a query.
    fn elements(&mut self) -> Result<Rounds<Written>, SqlError> {
        let into = self.targets()?;
        if self.cursor.follows(0, "slice") {
            return Err(unsupported("SLICE in FOREACH").at(self.cursor.position()));
        }
        self.cursor.expect("in")?;
        self.cursor.expect("array")?;
        let text = format!("select * from unnest({})", self.cursor.text_until(begins_loop)?);
        let statement = crate::parse::syntax::parse_ast(&text).map_err(|error| SqlError { position: None, ..error })?;
        let text = Fragment { text, offset: None };
        let what = Executed::Sql { statement, text, performs: false };
        Ok(Rounds::Rows(StatementSyntax { what, into, strict: false }))
    }

    fn leave(&mut self, goes_on: bool) -> Result<Leave<Written>, SqlError> {
        let position = self.cursor.position();
        let ends = self.cursor.is_at_end() || self.cursor.follows(0, "when") || self.cursor.follows_symbol(0, b";");
        let label = if ends { None } else { Some(self.cursor.name()?) };
        let word = if goes_on { "CONTINUE" } else { "EXIT" };
        let wrong = |message: String| Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
        match &label {
            None if !self.is_in_loop() => {
                let unless = if goes_on { "" } else { ", unless it has a label" };
                return wrong(format!("{word} cannot be used outside a loop{unless}"));
            }
            None => {}
            Some(label) => match self.around.iter().rev().find(|around| around.label.as_ref() == Some(label)) {
                None => {
                    return wrong(format!(
                        "there is no label \"{label}\" attached to any block or loop enclosing this statement"
                    ));
                }
                Some(around) if goes_on && !around.is_loop => {
                    return wrong(format!("block label \"{label}\" cannot be used in CONTINUE"));
                }
                Some(_) => {}
            },
        }
        let condition = if self.cursor.take("when") { Some(self.expression(ends_statement)?) } else { None };
        Ok(Leave { goes_on, label, condition })
    }

    /// Reads RAISE, whose first word was taken.
    fn raise(&mut self) -> Result<Raise<Written>, SqlError> {
        let mut raise = Raise { notice: None, condition: None, message: None, options: Vec::new(), again: false };
        if self.cursor.is_at_end() || self.cursor.follows_symbol(0, b";") {
            raise.again = true;
            return Ok(raise);
        }
        let level = self.cursor.peek_word().unwrap_or_default();
        let notice =
            ["DEBUG", "LOG", "INFO", "NOTICE", "WARNING"].into_iter().find(|word| word.eq_ignore_ascii_case(&level));
        if notice.is_some() || level == "exception" {
            self.cursor.advance();
        }
        raise.notice = notice;
        let position = self.cursor.position();
        if let Some(format) = self.message_text() {
            let parts = parts(&format);
            let mut values = Vec::new();
            while self.cursor.take_symbol(b',') {
                let ends = |token: &Token, sql: &str| token.is_symbol(b',') || ends_message(token, sql);
                values.push(self.expression(ends)?);
            }
            let wanted = parts.len() - 1;
            if values.len() != wanted {
                let many = if values.len() > wanted { "many" } else { "few" };
                let message = format!("too {many} parameters specified for RAISE");
                return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
            }
            raise.message = Some((parts, values));
        } else if self.cursor.take("sqlstate") {
            let code = self.cursor.string()?;
            raise.condition = Some((Condition::of_code(&code).map_err(|error| error.at(position))?, code));
        } else if !self.cursor.follows(0, "using") && !self.cursor.follows_symbol(0, b";") && !self.cursor.is_at_end() {
            let name = self.cursor.name()?;
            let known = Condition::named(&name).map_err(|error| error.at(position))?;
            let known = known.into_iter().find(|condition| *condition != Condition::Others);
            raise.condition = Some((known.ok_or_else(|| self.cursor.unexpected())?, name));
        }
        if self.cursor.take("using") {
            loop {
                if self.cursor.follows(0, "datatype") {
                    return Err(unsupported("DATATYPE in RAISE").at(self.cursor.position()));
                }
                let option = raise_option(&self.cursor.name()?).ok_or_else(|| {
                    SqlError::new(state::SYNTAX_ERROR, "unrecognized RAISE statement option").at(position)
                })?;
                self.cursor.take_symbol(b':');
                self.cursor.expect_symbol(b'=')?;
                let ends = |token: &Token, _: &str| token.is_symbol(b',') || token.is_symbol(b';');
                raise.options.push((option, self.expression(ends)?));
                if !self.cursor.take_symbol(b',') {
                    break;
                }
            }
        }
        Ok(raise)
    }

    /// Takes the string of a message, if one is next.
    fn message_text(&mut self) -> Option<String> {
        match self.cursor.take_body() {
            Some(range) => Some(self.text[range].to_owned()),
            None => self.cursor.string().ok(),
        }
    }

    /// Reads the handlers of a block, after EXCEPTION.
    pub(super) fn handlers(&mut self) -> Result<Vec<Handler<Written>>, SqlError> {
        let mut handlers = Vec::new();
        while self.cursor.take("when") {
            let mut conditions = Vec::new();
            loop {
                let position = self.cursor.position();
                let known = if self.cursor.take("sqlstate") {
                    Condition::of_code(&self.cursor.string()?).map(|condition| vec![condition])
                } else {
                    Condition::named(&self.cursor.name()?)
                };
                conditions.extend(known.map_err(|error| error.at(position))?);
                if !self.cursor.take("or") {
                    break;
                }
            }
            self.cursor.expect("then")?;
            let text = |name: &str| variable(name, ast::DataType::Text);
            let (sqlstate, sqlerrm) = (text("sqlstate"), text("sqlerrm"));
            let names = [&sqlstate, &sqlerrm].map(|known| (known.name.clone(), true)).to_vec();
            let steps = self.within(None, false, names, Self::steps)?;
            handlers.push(Handler { conditions, sqlstate, sqlerrm, steps });
        }
        if handlers.is_empty() { Err(self.cursor.unexpected()) } else { Ok(handlers) }
    }

    /// Reads GET DIAGNOSTICS, whose first word was taken.
    fn facts(&mut self) -> Result<Vec<(TargetSyntax, Fact)>, SqlError> {
        let stacked = self.cursor.take("stacked");
        if !stacked {
            self.cursor.take("current");
        }
        self.cursor.expect("diagnostics")?;
        let mut facts = Vec::new();
        loop {
            let position = self.cursor.position();
            let target = target(&mut self.cursor)?;
            self.check_target(&target).map_err(|error| error.at(position))?;
            self.cursor.take_symbol(b':');
            self.cursor.expect_symbol(b'=')?;
            let position = self.cursor.position();
            let word = self.cursor.word()?;
            let fact = match word.as_str() {
                "row_count" if !stacked => Some(Fact::RowCount),
                "pg_context" if !stacked => return Err(unsupported("PG_CONTEXT").at(position)),
                _ if stacked => error_part(&word).map(Fact::Error),
                _ => None,
            };
            let kind = if stacked { "STACKED" } else { "CURRENT" };
            let message = format!("diagnostics item {} is not allowed in GET {kind} DIAGNOSTICS", word.to_uppercase());
            facts.push((target, fact.ok_or_else(|| SqlError::new(state::SYNTAX_ERROR, message).at(position))?));
            if !self.cursor.take_symbol(b',') {
                return Ok(facts);
            }
        }
    }
}

/// Makes the RAISE that reports an error if no case of a CASE without ELSE holds.
fn no_case() -> Result<Raise<Written>, SqlError> {
    Ok(Raise {
        notice: None,
        condition: Some((Condition::Sqlstate(state::CASE_NOT_FOUND), "case_not_found".to_owned())),
        message: Some((vec!["case not found".to_owned()], Vec::new())),
        options: vec![(ErrorPart::Hint, made("'CASE statement is missing ELSE part.'".to_owned())?)],
        again: false,
    })
}

/// Parses an expression from a text that is no part of the body, so that errors have no position.
fn made(text: String) -> Result<Expression, SqlError> {
    let expr = crate::parse::parse_expr(&text).map_err(|error| SqlError { position: None, ..error })?;
    Ok(Expression { expr, text: Fragment { text, offset: None } })
}

fn variable(name: &str, ty: ast::DataType) -> VariableSyntax {
    VariableSyntax { name: name.to_owned(), ty: VariableType::Named(ty), constant: false, not_null: false }
}

fn begins_loop(token: &Token, sql: &str) -> bool {
    token.is(sql, "loop") || token.is_symbol(b';')
}

/// Whether the token is the first of the two points of a range.
fn begins_range_end(token: &Token, sql: &str) -> bool {
    token.is_symbol(b'.') && sql[token.end..].starts_with('.')
}

fn ends_statement(token: &Token, _: &str) -> bool {
    token.is_symbol(b';')
}

fn ends_message(token: &Token, sql: &str) -> bool {
    token.is(sql, "using") || token.is_symbol(b';')
}

/// Splits the format of a message at each `%`, for which a value is put in. `%%` stands for the character itself.
fn parts(format: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '%' && characters.next_if_eq(&'%').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts
}

fn raise_option(name: &str) -> Option<ErrorPart> {
    Some(match name {
        "message" => ErrorPart::Message,
        "detail" => ErrorPart::Detail,
        "hint" => ErrorPart::Hint,
        "errcode" => ErrorPart::Code,
        "column" => ErrorPart::Column,
        "constraint" => ErrorPart::Constraint,
        "table" => ErrorPart::Table,
        "schema" => ErrorPart::Schema,
        _ => return None,
    })
}

fn error_part(word: &str) -> Option<ErrorPart> {
    Some(match word {
        "returned_sqlstate" => ErrorPart::Code,
        "message_text" => ErrorPart::Message,
        "pg_exception_detail" => ErrorPart::Detail,
        "pg_exception_hint" => ErrorPart::Hint,
        "pg_exception_context" => ErrorPart::Context,
        "column_name" => ErrorPart::Column,
        "constraint_name" => ErrorPart::Constraint,
        "pg_datatype_name" => ErrorPart::DataType,
        "table_name" => ErrorPart::Table,
        "schema_name" => ErrorPart::Schema,
        _ => return None,
    })
}
