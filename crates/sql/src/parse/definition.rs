//! CREATE, ALTER and DROP SCHEMA, COMMENT ON, ALTER VIEW and MATERIALIZED VIEW, SET SCHEMA and OWNER TO, GRANT and
//! REVOKE. The statements about types, domains and triggers, and ALTER FUNCTION and the like, are read by other files,
//! but belong to the same enum.

use super::cursor::Cursor;
use super::domain::{self, DomainStatement};
use super::enumeration::{self, TypeStatement};
use super::procedure::{self, AlterProcedure, RoutineKind, RoutineName, named};
use super::trigger::{self, TriggerStatement};
use super::view_options::{self, ViewOption};
use crate::error::unsupported;
use crate::schema::RelationName;
use crate::{SqlError, state};

/// The kind of relation that an ALTER or COMMENT statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// TABLE. PostgreSQL accepts it for views and sequences too.
    Table,
    /// VIEW
    View,
    /// MATERIALIZED VIEW
    Materialized,
    /// SEQUENCE
    Sequence,
}

/// The change to a relation that an ALTER statement makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// RENAME TO
    Rename(String),
    /// RENAME COLUMN: the old name and the new one.
    RenameColumn(String, String),
    /// SET SCHEMA
    SetSchema(String),
    /// OWNER TO
    Owner(String),
    /// ALTER COLUMN … DROP EXPRESSION of a table: the column, and whether the statement says IF EXISTS.
    DropExpression(String, bool),
    /// ALTER COLUMN … SET DEFAULT of a view, with the text of the expression, or DROP DEFAULT (`None`).
    Default(String, Option<String>),
    /// SET of options of a view.
    SetOptions(Vec<ViewOption>),
    /// RESET of options of a view, by their names.
    ResetOptions(Vec<String>),
}

/// The object that a COMMENT statement describes.
#[derive(Clone, Debug, PartialEq)]
pub enum Commented {
    /// TABLE, VIEW, MATERIALIZED VIEW or SEQUENCE
    Relation(RelationKind, RelationName),
    /// INDEX
    Index(RelationName),
    /// COLUMN
    Column(RelationName, String),
    /// CONSTRAINT … ON
    Constraint(String, RelationName),
    /// SCHEMA
    Schema(String),
    /// TYPE
    Type(RelationName),
    /// DOMAIN
    Domain(RelationName),
    /// CONSTRAINT … ON DOMAIN
    DomainConstraint(String, RelationName),
    /// TRIGGER … ON
    Trigger(String, RelationName),
    /// FUNCTION, PROCEDURE or ROUTINE
    Routine(RoutineKind, RoutineName),
}

/// The objects that a GRANT or REVOKE statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Tables, views and sequences.
    Relations(Vec<RelationName>),
    /// Schemas, or all objects in them.
    Schemas(Vec<String>),
    /// Databases.
    Databases(Vec<String>),
    /// Functions or procedures, or either.
    Routines(RoutineKind, Vec<RoutineName>),
    /// Types.
    Types(Vec<RelationName>),
}

/// A statement about schemas, types, triggers, comments or privileges, or one of some forms of ALTER.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// CREATE SCHEMA; without a name, the schema gets the name of its owner.
    CreateSchema {
        /// The name of the schema.
        name: String,
        /// AUTHORIZATION: the role that owns the schema.
        owner: Option<String>,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
    /// DROP SCHEMA
    DropSchemas {
        /// The names of the schemas.
        names: Vec<String>,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
    /// ALTER SCHEMA … RENAME TO: the old name and the new one.
    RenameSchema(String, String),
    /// ALTER SCHEMA … OWNER TO: the schema and the role.
    OwnSchema(String, String),
    /// ALTER TABLE, VIEW, MATERIALIZED VIEW or SEQUENCE
    Alter {
        /// The kind of relation that the statement names.
        kind: RelationKind,
        /// The name of the relation.
        name: RelationName,
        /// IF EXISTS
        if_exists: bool,
        /// The change to the relation.
        change: Change,
    },
    /// CREATE, ALTER or DROP TYPE
    Type(TypeStatement),
    /// CREATE, ALTER or DROP DOMAIN
    Domain(DomainStatement),
    /// CREATE, ALTER or DROP TRIGGER
    Trigger(TriggerStatement),
    /// ALTER FUNCTION, ALTER PROCEDURE or ALTER ROUTINE
    Routine(AlterProcedure),
    /// COMMENT ON … IS: the object and the comment; `None` is NULL, which removes the comment.
    Comment(Commented, Option<String>),
    /// GRANT or REVOKE.
    Privileges {
        /// Whether the statement is REVOKE, and not GRANT.
        revoke: bool,
        /// The objects whose privileges are granted or revoked.
        granted: Granted,
        /// The columns to which the privileges are limited; empty if they are not limited.
        columns: Vec<String>,
        /// The roles that the statement names: those that get or lose the privileges, and the one after GRANTED BY.
        roles: Vec<String>,
    },
}

impl Definition {
    /// Returns the statement's command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Definition::CreateSchema { .. } => "CREATE SCHEMA",
            Definition::DropSchemas { .. } => "DROP SCHEMA",
            Definition::RenameSchema(..) | Definition::OwnSchema(..) => "ALTER SCHEMA",
            Definition::Alter { kind: RelationKind::Table, .. } => "ALTER TABLE",
            Definition::Alter { kind: RelationKind::View, .. } => "ALTER VIEW",
            Definition::Alter { kind: RelationKind::Materialized, .. } => "ALTER MATERIALIZED VIEW",
            Definition::Alter { kind: RelationKind::Sequence, .. } => "ALTER SEQUENCE",
            Definition::Type(TypeStatement::Create(..)) => "CREATE TYPE",
            Definition::Type(TypeStatement::Alter(..)) => "ALTER TYPE",
            Definition::Type(TypeStatement::Drop { .. }) => "DROP TYPE",
            Definition::Domain(DomainStatement::Create(..)) => "CREATE DOMAIN",
            Definition::Domain(DomainStatement::Alter(..)) => "ALTER DOMAIN",
            Definition::Domain(DomainStatement::Drop { .. }) => "DROP DOMAIN",
            Definition::Trigger(TriggerStatement::Create(_)) => "CREATE TRIGGER",
            Definition::Trigger(TriggerStatement::Rename(..)) => "ALTER TRIGGER",
            Definition::Trigger(TriggerStatement::Drop { .. }) => "DROP TRIGGER",
            Definition::Routine(AlterProcedure { kind: RoutineKind::Function, .. }) => "ALTER FUNCTION",
            Definition::Routine(AlterProcedure { kind: RoutineKind::Procedure, .. }) => "ALTER PROCEDURE",
            Definition::Routine(AlterProcedure { kind: RoutineKind::Routine, .. }) => "ALTER ROUTINE",
            Definition::Comment(..) => "COMMENT",
            Definition::Privileges { revoke: false, .. } => "GRANT",
            Definition::Privileges { revoke: true, .. } => "REVOKE",
        }
    }
}

/// Reads a statement of this module. Returns `None` if the tokens begin another statement.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Option<Definition>, SqlError> {
    let Some(word) = cursor.peek_word() else { return Ok(None) };
    let of_schema = cursor.follows(1, "schema");
    Ok(Some(match word.as_str() {
        "create" if of_schema => create_schema(cursor)?,
        "drop" if of_schema => drop_schemas(cursor)?,
        "alter" if of_schema => alter_schema(cursor)?,
        "create" | "alter" | "drop" if trigger::begins(cursor) => Definition::Trigger(trigger::statement(cursor)?),
        "alter" if ["function", "procedure", "routine"].iter().any(|word| cursor.follows(1, word)) => {
            Definition::Routine(procedure::alter(cursor)?)
        }
        "create" | "alter" | "drop" if cursor.follows(1, "type") => Definition::Type(enumeration::parse(cursor)?),
        "create" | "alter" | "drop" if cursor.follows(1, "domain") => Definition::Domain(domain::parse(cursor)?),
        "alter" => return alter(cursor),
        "comment" => comment(cursor)?,
        "grant" | "revoke" => privileges(cursor, word == "revoke")?,
        _ => return Ok(None),
    }))
}

fn create_schema(cursor: &mut Cursor<'_>) -> Result<Definition, SqlError> {
    cursor.advance();
    cursor.advance();
    let if_not_exists = cursor.take("if");
    if if_not_exists {
        cursor.expect("not")?;
        cursor.expect("exists")?;
    }
    let name = if cursor.follows(0, "authorization") { None } else { Some(cursor.name()?) };
    let owner = if cursor.take("authorization") { Some(cursor.name()?) } else { None };
    if ["create", "grant"].iter().any(|word| cursor.follows(0, word)) {
        return Err(unsupported("CREATE SCHEMA with what is in it").hint("Create it afterwards."));
    }
    let name = name.or_else(|| owner.clone()).unwrap_or_default();
    Ok(Definition::CreateSchema { name, owner, if_not_exists })
}

fn drop_schemas(cursor: &mut Cursor<'_>) -> Result<Definition, SqlError> {
    cursor.advance();
    cursor.advance();
    let if_exists = cursor.if_exists()?;
    let names = cursor.names()?;
    let cascade = cursor.cascades();
    Ok(Definition::DropSchemas { names, if_exists, cascade })
}

fn alter_schema(cursor: &mut Cursor<'_>) -> Result<Definition, SqlError> {
    cursor.advance();
    cursor.advance();
    let name = cursor.name()?;
    if cursor.take("rename") {
        cursor.expect("to")?;
        return Ok(Definition::RenameSchema(name, cursor.name()?));
    }
    cursor.expect("owner")?;
    cursor.expect("to")?;
    Ok(Definition::OwnSchema(name, cursor.name()?))
}

/// Reads ALTER VIEW and ALTER MATERIALIZED VIEW, the forms SET SCHEMA and OWNER TO of ALTER TABLE and ALTER SEQUENCE,
/// and DROP EXPRESSION of ALTER TABLE. Returns `None` for another statement.
fn alter(cursor: &mut Cursor<'_>) -> Result<Option<Definition>, SqlError> {
    let start = cursor.clone();
    cursor.advance();
    let kind = match cursor.peek_word().as_deref() {
        Some("table") => RelationKind::Table,
        Some("view") => RelationKind::View,
        Some("materialized") if cursor.follows(1, "view") => {
            cursor.advance();
            RelationKind::Materialized
        }
        Some("sequence") => RelationKind::Sequence,
        _ => {
            *cursor = start;
            return Ok(None);
        }
    };
    cursor.advance();
    let if_exists = cursor.take("if") && cursor.take("exists");
    if kind == RelationKind::Table {
        cursor.take("only");
    }
    let Ok(name) = cursor.qualified_name() else {
        *cursor = start;
        return Ok(None);
    };
    let of_view = matches!(kind, RelationKind::View | RelationKind::Materialized);
    let change = if cursor.follows(0, "set") && cursor.follows(1, "schema") {
        cursor.advance();
        cursor.advance();
        Change::SetSchema(cursor.name()?)
    } else if cursor.take("owner") {
        cursor.expect("to")?;
        Change::Owner(cursor.name()?)
    } else if of_view && cursor.take("rename") {
        if cursor.take("to") {
            Change::Rename(cursor.name()?)
        } else {
            cursor.take("column");
            let old = cursor.name()?;
            cursor.expect("to")?;
            Change::RenameColumn(old, cursor.name()?)
        }
    } else if kind == RelationKind::Table
        && let Some(change) = drop_expression(cursor)
    {
        change
    } else if kind == RelationKind::Materialized {
        return Err(unsupported("this change of a materialized view"));
    } else if of_view {
        change_of_view(cursor)?
    } else {
        *cursor = start;
        return Ok(None);
    };
    Ok(Some(Definition::Alter { kind, name, if_exists, change }))
}

/// Reads the changes that only ALTER VIEW makes: those of options and defaults.
fn change_of_view(cursor: &mut Cursor<'_>) -> Result<Change, SqlError> {
    if cursor.take("reset") {
        return Ok(Change::ResetOptions(view_options::names(cursor)?));
    }
    if cursor.take("set") {
        return Ok(Change::SetOptions(view_options::options(cursor)?));
    }
    cursor.expect("alter")?;
    if !(cursor.follows(1, "set") || cursor.follows(1, "drop")) {
        cursor.take("column");
    }
    let column = cursor.name()?;
    let sets = cursor.take("set");
    if !sets {
        cursor.expect("drop")?;
    }
    cursor.expect("default")?;
    if sets && cursor.is_at_end() {
        return Err(cursor.unexpected());
    }
    Ok(Change::Default(column, sets.then(|| cursor.rest())))
}

/// Reads ALTER COLUMN … DROP EXPRESSION, which sqlparser does not know. For another change it takes no token and
/// returns `None`.
fn drop_expression(cursor: &mut Cursor<'_>) -> Option<Change> {
    let mut ahead = cursor.clone();
    if !ahead.take("alter") {
        return None;
    }
    if !(ahead.follows(1, "drop") && ahead.follows(2, "expression")) {
        ahead.take("column");
    }
    let column = ahead.name().ok()?;
    if !(ahead.take("drop") && ahead.take("expression")) {
        return None;
    }
    let if_exists = ahead.take("if") && ahead.take("exists");
    ahead.is_at_end().then(|| {
        *cursor = ahead;
        Change::DropExpression(column, if_exists)
    })
}

fn comment(cursor: &mut Cursor<'_>) -> Result<Definition, SqlError> {
    cursor.advance();
    cursor.expect("on")?;
    let wrong = cursor.unexpected();
    let commented = match cursor.word()?.as_str() {
        "table" => Commented::Relation(RelationKind::Table, cursor.qualified_name()?),
        "view" => Commented::Relation(RelationKind::View, cursor.qualified_name()?),
        "materialized" => {
            cursor.expect("view")?;
            Commented::Relation(RelationKind::Materialized, cursor.qualified_name()?)
        }
        "sequence" => Commented::Relation(RelationKind::Sequence, cursor.qualified_name()?),
        "index" => Commented::Index(cursor.qualified_name()?),
        "schema" => Commented::Schema(cursor.name()?),
        "type" => Commented::Type(cursor.qualified_name()?),
        "domain" => Commented::Domain(cursor.qualified_name()?),
        "constraint" => {
            let name = cursor.name()?;
            cursor.expect("on")?;
            match cursor.take("domain") {
                true => Commented::DomainConstraint(name, cursor.qualified_name()?),
                false => Commented::Constraint(name, cursor.qualified_name()?),
            }
        }
        "column" => {
            let mut parts = vec![cursor.name()?];
            while cursor.take_symbol(b'.') {
                parts.push(cursor.name()?);
            }
            let column = parts.pop().unwrap_or_default();
            if parts.is_empty() {
                return Err(SqlError::new(crate::state::SYNTAX_ERROR, "column name must be qualified"));
            }
            Commented::Column(crate::parse::names::relation_name(&parts)?, column)
        }
        "trigger" => {
            let name = cursor.name()?;
            cursor.expect("on")?;
            Commented::Trigger(name, cursor.qualified_name()?)
        }
        word @ ("function" | "procedure" | "routine") => {
            let kind = match word {
                "function" => RoutineKind::Function,
                "procedure" => RoutineKind::Procedure,
                _ => RoutineKind::Routine,
            };
            Commented::Routine(kind, named(cursor)?)
        }
        kind @ ("database" | "extension" | "role") => {
            return Err(unsupported(&format!("COMMENT ON {}", kind.to_uppercase())));
        }
        _ => return Err(wrong),
    };
    cursor.expect("is")?;
    let text = if cursor.take("null") { None } else { Some(cursor.string()?) };
    Ok(Definition::Comment(commented, text.filter(|text| !text.is_empty())))
}

/// Reads GRANT or REVOKE. Privileges themselves are not kept, since every role may do everything; the objects, columns
/// and roles must exist.
fn privileges(cursor: &mut Cursor<'_>, revoke: bool) -> Result<Definition, SqlError> {
    cursor.advance();
    if revoke && cursor.take("grant") {
        cursor.expect("option")?;
        cursor.expect("for")?;
    }
    let columns = granted_privileges(cursor)?;
    let granted = granted(cursor)?;
    cursor.expect(if revoke { "from" } else { "to" })?;
    let mut roles = Vec::new();
    loop {
        cursor.take("group");
        roles.push(cursor.name()?);
        if !cursor.take_symbol(b',') {
            break;
        }
    }
    if cursor.take("with") {
        cursor.expect("grant")?;
        cursor.expect("option")?;
    }
    if cursor.take("granted") {
        cursor.expect("by")?;
        roles.push(cursor.name()?);
    }
    let _ = revoke && cursor.cascades();
    cursor.expect_end()?;
    Ok(Definition::Privileges { revoke, granted, columns, roles })
}

/// Reads the privileges and the word ON after them. Returns the columns to which the privileges are limited.
fn granted_privileges(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SqlError> {
    const PRIVILEGES: [&str; 13] = [
        "all",
        "select",
        "insert",
        "update",
        "delete",
        "truncate",
        "references",
        "trigger",
        "usage",
        "create",
        "connect",
        "temporary",
        "temp",
    ];
    let mut columns = Vec::new();
    loop {
        let name = cursor.name()?;
        if cursor.follows(0, "to") || cursor.follows(0, "from") {
            return Err(unsupported("a role as a member of another one"));
        }
        if name == "all" {
            cursor.take("privileges");
        } else if name != "execute" && !PRIVILEGES.contains(&name.as_str()) {
            let message = format!("unrecognized privilege type \"{name}\"");
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        if cursor.take_symbol(b'(') {
            columns.extend(cursor.names()?);
            cursor.expect_symbol(b')')?;
        }
        if !cursor.take_symbol(b',') {
            cursor.expect("on")?;
            return Ok(columns);
        }
    }
}

fn granted(cursor: &mut Cursor<'_>) -> Result<Granted, SqlError> {
    const ROUTINES: [RoutineKind; 3] = [RoutineKind::Function, RoutineKind::Procedure, RoutineKind::Routine];
    if cursor.follows(0, "all") && cursor.follows(2, "in") {
        for _ in 0..3 {
            cursor.advance();
        }
        cursor.expect("schema")?;
        return cursor.names().map(Granted::Schemas);
    }
    if cursor.take("schema") {
        return cursor.names().map(Granted::Schemas);
    }
    if cursor.take("database") {
        return cursor.names().map(Granted::Databases);
    }
    if let Some(kind) = ROUTINES.into_iter().find(|kind| cursor.take(kind.word())) {
        return Ok(Granted::Routines(kind, cursor.list(named)?));
    }
    if cursor.follows(0, "type") && !cursor.follows(1, "to") && !cursor.follows(1, "from") {
        cursor.advance();
        return cursor.list(Cursor::qualified_name).map(Granted::Types);
    }
    for word in ["language", "domain", "tablespace", "foreign", "large", "parameter"] {
        if cursor.follows(0, word) && !cursor.follows(1, "to") && !cursor.follows(1, "from") {
            return Err(unsupported(&format!("privileges on a {word}")));
        }
    }
    let _ = cursor.take("table") || cursor.take("sequence");
    let mut names = Vec::new();
    loop {
        names.push(cursor.qualified_name()?);
        if !cursor.take_symbol(b',') {
            return Ok(Granted::Relations(names));
        }
    }
}
