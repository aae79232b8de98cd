//! CREATE, ALTER and DROP TRIGGER.

use super::body::{Expression, Fragment};
use super::cursor::Cursor;
use super::lex::Token;
use crate::error::unsupported;
use crate::schema::{RelationName, quoted};
use crate::{SqlError, state};

/// A CREATE TRIGGER statement.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// The name of the trigger.
    pub name: String,
    /// OR REPLACE
    pub replace: bool,
    /// Whether the trigger fires before, after or instead of a change.
    pub time: TriggerTime,
    /// The changes at which the trigger fires.
    pub events: TriggerEvents,
    /// The table or view of the trigger.
    pub table: RelationName,
    /// Whether the trigger fires for each row, and not once for each statement.
    pub for_rows: bool,
    /// The condition of WHEN.
    pub when: Option<Expression>,
    /// The name of the function. In the catalog, the name contains the schema.
    pub function: RelationName,
    /// The arguments, which the function finds in `TG_ARGV`.
    pub arguments: Vec<String>,
}

impl CreateTrigger {
    /// Formats the statement with the present names of the trigger, its table and its function. `name` is quoted where
    /// necessary; `table` and `function` must be quoted already.
    pub fn written(&self, name: &str, table: &str, function: &str) -> String {
        let events: Vec<_> = [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update]
            .into_iter()
            .filter(|event| self.events.has(*event))
            .map(|event| match &self.events.columns[..] {
                columns @ [_, ..] if event == TriggerEvent::Update => {
                    let columns: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
                    format!("UPDATE OF {}", columns.join(", "))
                }
                _ => event.name().to_owned(),
            })
            .collect();
        let when = self.when.as_ref().map_or(String::new(), |when| format!(" WHEN ({})", when.text.text));
        let arguments: Vec<_> =
            self.arguments.iter().map(|argument| format!("'{}'", argument.replace('\'', "''"))).collect();
        format!(
            "CREATE TRIGGER {} {} {} ON {table} FOR EACH {}{when} EXECUTE FUNCTION {function}({})",
            quoted(name),
            self.time.name(),
            events.join(" OR "),
            if self.for_rows { "ROW" } else { "STATEMENT" },
            arguments.join(", "),
        )
    }
}

/// The moment of a change at which a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTime {
    /// BEFORE
    Before,
    /// AFTER
    After,
    /// INSTEAD OF: the trigger makes the change to a row of a view.
    InsteadOf,
}

impl TriggerTime {
    /// Returns `BEFORE`, `AFTER` or `INSTEAD OF`.
    pub fn name(self) -> &'static str {
        match self {
            TriggerTime::Before => "BEFORE",
            TriggerTime::After => "AFTER",
            TriggerTime::InsteadOf => "INSTEAD OF",
        }
    }
}

/// A kind of change at which triggers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl TriggerEvent {
    /// Returns `INSERT`, `UPDATE` or `DELETE`.
    pub fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

/// The changes at which a trigger fires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerEvents {
    /// INSERT
    pub insert: bool,
    /// UPDATE
    pub update: bool,
    /// DELETE
    pub delete: bool,
    /// The columns after UPDATE OF: the trigger fires only at an UPDATE that sets one of them. If there are none, it
    /// fires at every UPDATE.
    pub columns: Vec<String>,
}

impl TriggerEvents {
    /// Whether a kind of change is one of these changes.
    pub fn has(&self, event: TriggerEvent) -> bool {
        match event {
            TriggerEvent::Insert => self.insert,
            TriggerEvent::Update => self.update,
            TriggerEvent::Delete => self.delete,
        }
    }
}

/// A statement about triggers, apart from those of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerStatement {
    /// CREATE TRIGGER
    Create(Box<CreateTrigger>),
    /// ALTER TRIGGER … RENAME TO: the trigger, its table and the new name.
    Rename(String, RelationName, String),
    /// DROP TRIGGER
    Drop {
        /// The name of the trigger.
        name: String,
        /// The table of the trigger.
        table: RelationName,
        /// IF EXISTS
        if_exists: bool,
    },
}

/// Whether a statement about triggers begins here.
pub(super) fn begins(cursor: &Cursor<'_>) -> bool {
    let creates = cursor.follows(0, "create")
        && [1, 2, 3].into_iter().any(|at| cursor.follows(at, "trigger"))
        && (cursor.follows(1, "trigger") || cursor.follows(1, "constraint") || cursor.follows(1, "or"));
    creates || ((cursor.follows(0, "alter") || cursor.follows(0, "drop")) && cursor.follows(1, "trigger"))
}

/// Reads a statement about triggers.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<TriggerStatement, SqlError> {
    if cursor.follows(0, "create") {
        return create(cursor).map(|create| TriggerStatement::Create(Box::new(create)));
    }
    let drops = cursor.take("drop");
    if !drops {
        cursor.expect("alter")?;
    }
    cursor.expect("trigger")?;
    let if_exists = drops && cursor.if_exists()?;
    let name = cursor.name()?;
    cursor.expect("on")?;
    let table = cursor.qualified_name()?;
    if drops {
        cursor.cascades();
        return Ok(TriggerStatement::Drop { name, table, if_exists });
    }
    cursor.expect("rename")?;
    cursor.expect("to")?;
    Ok(TriggerStatement::Rename(name, table, cursor.name()?))
}

fn create(cursor: &mut Cursor<'_>) -> Result<CreateTrigger, SqlError> {
    cursor.expect("create")?;
    let replace = cursor.take("or");
    if replace {
        cursor.expect("replace")?;
    }
    if cursor.follows(0, "constraint") {
        return Err(unsupported("CREATE CONSTRAINT TRIGGER").at(cursor.position()));
    }
    cursor.expect("trigger")?;
    let name = cursor.name()?;
    let time = if cursor.take("before") {
        TriggerTime::Before
    } else if cursor.take("after") {
        TriggerTime::After
    } else if cursor.take("instead") {
        cursor.expect("of")?;
        TriggerTime::InsteadOf
    } else {
        return Err(cursor.unexpected());
    };
    let events = events(cursor)?;
    cursor.expect("on")?;
    let table = cursor.qualified_name()?;
    if cursor.follows(0, "referencing") {
        return Err(unsupported("REFERENCING in a trigger").at(cursor.position()));
    }
    if cursor.take("not") {
        cursor.expect("deferrable")?;
    }
    let mut for_rows = false;
    if cursor.take("for") {
        cursor.take("each");
        for_rows = cursor.take("row");
        if !for_rows {
            cursor.expect("statement")?;
        }
    }
    let when = if cursor.take("when") { Some(condition(cursor)?) } else { None };
    cursor.expect("execute")?;
    if !cursor.take("function") {
        cursor.expect("procedure")?;
    }
    let function = cursor.qualified_name()?;
    cursor.expect_symbol(b'(')?;
    let arguments = arguments(cursor)?;
    Ok(CreateTrigger { name, replace, time, events, table, for_rows, when, function, arguments })
}

fn events(cursor: &mut Cursor<'_>) -> Result<TriggerEvents, SqlError> {
    let mut events = TriggerEvents::default();
    loop {
        let position = cursor.position();
        let word = cursor.word()?;
        let known = match word.as_str() {
            "insert" => &mut events.insert,
            "update" => &mut events.update,
            "delete" => &mut events.delete,
            "truncate" => return Err(unsupported("TRUNCATE triggers").at(position)),
            _ => {
                let message = format!("syntax error at or near \"{word}\"");
                return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
            }
        };
        if std::mem::replace(known, true) {
            let message = "duplicate trigger events specified";
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
        }
        if word == "update" && cursor.take("of") {
            events.columns = cursor.names()?;
        }
        if !cursor.take("or") {
            return Ok(events);
        }
    }
}

/// Reads the condition of WHEN, in parentheses.
fn condition(cursor: &mut Cursor<'_>) -> Result<Expression, SqlError> {
    cursor.expect_symbol(b'(')?;
    let text = cursor.parenthesised()?;
    let expr = super::parse_expr(&text).map_err(|error| SqlError { position: None, ..error })?;
    Ok(Expression { expr, text: Fragment { text, offset: None } })
}

/// Reads the arguments of the function, which are words, numbers and strings, up to the closing parenthesis.
fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SqlError> {
    let mut arguments = Vec::new();
    if cursor.take_symbol(b')') {
        return Ok(arguments);
    }
    loop {
        let quoted = cursor.clone().string().is_ok();
        arguments.push(if quoted { cursor.string()? } else { plain(cursor)? });
        if cursor.take_symbol(b')') {
            return Ok(arguments);
        }
        cursor.expect_symbol(b',')?;
    }
}

fn plain(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    if cursor.is_at_number() {
        let token: Token = cursor.any()?;
        return Ok(cursor.text(&token).to_owned());
    }
    match cursor.peek_word() {
        Some(_) => cursor.name(),
        None => Err(cursor.unexpected()),
    }
}
