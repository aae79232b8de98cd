//! CREATE, ALTER and DROP DATABASE.

use super::cursor::Cursor;
use crate::error::unsupported;
use crate::{SqlError, state};

/// A statement about databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseStatement {
    /// CREATE DATABASE
    Create(CreateDatabase),
    /// ALTER DATABASE … RENAME TO: the old name and the new one.
    Rename(String, String),
    /// ALTER DATABASE … OWNER TO: the database and the role.
    Own(String, String),
    /// DROP DATABASE
    Drop {
        /// The name of the database.
        name: String,
        /// IF EXISTS
        if_exists: bool,
        /// WITH (FORCE): whether the sessions in the database are ended.
        force: bool,
    },
}

/// A CREATE DATABASE statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateDatabase {
    /// The name of the database.
    pub name: String,
    /// OWNER: the role that owns the database.
    pub owner: Option<String>,
    /// TEMPLATE: the name of the template.
    pub template: Option<String>,
    /// The locales for which the statement asks, except C and POSIX, which the database has.
    pub locales: Vec<String>,
}

impl DatabaseStatement {
    /// Returns the statement's command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            DatabaseStatement::Create(_) => "CREATE DATABASE",
            DatabaseStatement::Rename(..) | DatabaseStatement::Own(..) => "ALTER DATABASE",
            DatabaseStatement::Drop { .. } => "DROP DATABASE",
        }
    }
}

/// Reads CREATE, ALTER or DROP DATABASE.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<DatabaseStatement, SqlError> {
    let verb = cursor.word()?;
    cursor.expect("database")?;
    match verb.as_str() {
        "create" => Ok(DatabaseStatement::Create(create(cursor)?)),
        "alter" => alter(cursor),
        _ => {
            let if_exists = cursor.if_exists()?;
            let name = cursor.name()?;
            cursor.take("with");
            let force = cursor.take_symbol(b'(');
            if force {
                cursor.expect("force")?;
                cursor.expect_symbol(b')')?;
            }
            Ok(DatabaseStatement::Drop { name, if_exists, force })
        }
    }
}

fn alter(cursor: &mut Cursor<'_>) -> Result<DatabaseStatement, SqlError> {
    let name = cursor.name()?;
    let is_rename = cursor.take("rename");
    if !is_rename && !cursor.take("owner") {
        return Err(unsupported("ALTER DATABASE of anything but the name and the owner"));
    }
    cursor.expect("to")?;
    let new = cursor.name()?;
    Ok(if is_rename { DatabaseStatement::Rename(name, new) } else { DatabaseStatement::Own(name, new) })
}

fn create(cursor: &mut Cursor<'_>) -> Result<CreateDatabase, SqlError> {
    let mut create = CreateDatabase { name: cursor.name()?, ..CreateDatabase::default() };
    cursor.take("with");
    let mut seen = Vec::new();
    while !cursor.is_at_end() {
        let wrong = cursor.unexpected();
        let mut option = cursor.word()?;
        if option == "connection" {
            cursor.expect("limit")?;
            option.push_str(" limit");
        }
        cursor.take_symbol(b'=');
        let value = cursor.scalar()?;
        if seen.contains(&option) {
            return Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        let plain = value.to_lowercase();
        let is_fine = match option.as_str() {
            _ if plain == "default" => true,
            "owner" => {
                create.owner = Some(value.clone());
                true
            }
            "locale" | "lc_collate" | "lc_ctype" | "icu_locale" => {
                if !["c", "posix"].contains(&plain.as_str()) {
                    create.locales.push(value.clone());
                }
                true
            }
            "template" => {
                create.template = Some(value.clone());
                true
            }
            "encoding" => is_utf8(&value)?,
            "tablespace" => plain == "pg_default",
            "locale_provider" => plain == "libc",
            "connection limit" => plain == "-1",
            "is_template" => ["false", "off", "no", "0"].contains(&plain.as_str()),
            "allow_connections" => ["true", "on", "yes", "1"].contains(&plain.as_str()),
            "strategy" | "collation_version" => true,
            _ => return Err(wrong),
        };
        if !is_fine {
            let what = format!("CREATE DATABASE with {} {value}", option.to_uppercase());
            return Err(unsupported(&what));
        }
        seen.push(option);
    }
    Ok(create)
}

/// Whether an encoding is UTF-8.
///
/// # Errors
/// 42704 if PostgreSQL has no such encoding.
fn is_utf8(encoding: &str) -> Result<bool, SqlError> {
    const OTHERS: [&str; 12] =
        ["sqlascii", "latin", "iso", "win", "windows", "euc", "koi8", "sjis", "big5", "gbk", "gb18030", "uhc"];
    let plain: String = encoding.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    if ["utf8", "unicode", "6"].contains(&plain.as_str()) {
        return Ok(true);
    }
    if plain.parse::<u8>().is_ok() || OTHERS.iter().any(|other| plain.starts_with(other)) {
        return Ok(false);
    }
    let message = format!("{encoding} is not a valid encoding name");
    Err(SqlError::new(state::UNDEFINED_OBJECT, message))
}
