//! Anomaly scripts: their contents, and the parser that reads them.

use hotrow_txn::Isolation;
use std::fmt;
use std::ops::Range;

/// The words that a line may begin with, besides a session's name.
const WORDS: [&str; 8] = ["table", "script", "on", "possible", "postgresql", "refuses", "after", "anomaly"];

/// The levels that PostgreSQL has, weakest first. PostgreSQL's repeatable read is snapshot isolation.
pub const POSTGRES_LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

/// The most sessions of a script.
pub const MAX_SESSIONS: usize = 3;

/// The content of a file of scripts.
#[derive(Debug)]
pub struct Scripts {
    /// The tables that every script is played on.
    pub tables: Vec<Table>,
    pub scripts: Vec<Script>,
}

/// A way to lay out the rows.
#[derive(Debug)]
pub struct Table {
    pub name: String,
    /// The statements that make the table.
    pub sql: String,
    /// The statements that make the table on engines that keep partitions apart, if these engines can have it.
    pub partitioned: Option<String>,
}

/// A few transactions whose steps interleave.
#[derive(Debug)]
pub struct Script {
    /// `G1a: a read of what is rolled back`
    pub name: String,
    /// The tables that the script is played on; none means all of them.
    pub tables: Vec<String>,
    /// The levels at which the anomaly may appear.
    pub possible: Vec<Isolation>,
    /// The levels at which PostgreSQL shows the anomaly, if they differ from `possible`.
    pub postgres: Option<Vec<Isolation>>,
    /// The code with which a statement may be refused.
    pub refusal: Option<String>,
    /// The number of sessions.
    pub sessions: usize,
    pub steps: Vec<Step>,
    /// The statements that run once all transactions have ended.
    pub after: Vec<Statement>,
    /// The conditions of the anomaly: it has appeared if all terms of one condition hold.
    pub anomalies: Vec<Vec<Term>>,
}

/// A session's next statement.
#[derive(Clone, Debug)]
pub struct Step {
    /// The session's number, from 0.
    pub session: usize,
    pub statement: Statement,
}

/// A statement, and a name for its answer.
#[derive(Clone, Debug)]
pub struct Statement {
    pub sql: String,
    pub reading: Option<String>,
}

/// A term of a condition that shows an anomaly.
#[derive(Debug, PartialEq, Eq)]
pub enum Term {
    /// A session, from 0, commits.
    Commits(usize),
    /// A statement of a session is refused.
    Refused(usize),
    /// The rows of a reading are equal to these, or differ from them.
    Reads { reading: String, equal: bool, rows: String },
}

/// A mistake in the text, and its place.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Reads a file of scripts.
pub fn parse(text: &str) -> Result<Scripts, Mistake> {
    let mut scripts = Scripts { tables: Vec::new(), scripts: Vec::new() };
    let mut started = 0;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with("script ") {
            finish(scripts.scripts.last_mut()).map_err(|message| Mistake { line: started, message })?;
            started = at + 1;
        }
        scripts.line(line).map_err(|message| Mistake { line: at + 1, message })?;
    }
    finish(scripts.scripts.last_mut()).map_err(|message| Mistake { line: started, message })?;
    Ok(scripts)
}

impl Scripts {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').ok_or_else(|| format!("`{line}` says too little"))?;
        match word {
            "table" => {
                let (name, sql) = rest.split_once(": ").ok_or("expected `table NAME: STATEMENTS`")?;
                self.tables.push(Table::new(name, sql)?);
                return Ok(());
            }
            "script" => {
                if !rest.contains(": ") {
                    return Err("expected `script NAME: TITLE`".to_owned());
                }
                if self.scripts.iter().any(|script| script.name == rest) {
                    return Err(format!("there is another script `{rest}`"));
                }
                self.scripts.push(Script::new(rest));
                return Ok(());
            }
            _ => {}
        }
        let script = self.scripts.last_mut().ok_or_else(|| format!("`{word}` stands before the first script"))?;
        match word {
            "on" => script.on(rest, &self.tables)?,
            "possible" => script.possible = levels(rest)?,
            "postgresql" => script.postgres = Some(levels(rest)?),
            "refuses" => script.refusal = Some(rest.to_owned()),
            "after" => script.ask(rest)?,
            "anomaly" => script.anomaly(rest)?,
            _ => script.step(session(word)?, rest)?,
        }
        Ok(())
    }
}

impl Table {
    fn new(name: &str, sql: &str) -> Result<Self, String> {
        let Some((before, rest)) = sql.split_once('{') else {
            return Ok(Self { name: name.to_owned(), sql: sql.to_owned(), partitioned: None });
        };
        let (part, after) = rest.split_once('}').ok_or("a brace is not closed")?;
        let partitioned = Some([before, part, after].concat());
        Ok(Self { name: name.to_owned(), sql: [before.trim_end(), after].concat(), partitioned })
    }
}

impl Script {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tables: Vec::new(),
            possible: Vec::new(),
            postgres: None,
            refusal: None,
            sessions: 0,
            steps: Vec::new(),
            after: Vec::new(),
            anomalies: Vec::new(),
        }
    }

    /// The numbers of its sessions.
    pub fn sessions(&self) -> Range<usize> {
        0..self.sessions
    }

    /// Whether it is played on a table.
    pub fn is_on(&self, table: &Table) -> bool {
        self.tables.is_empty() || self.tables.contains(&table.name)
    }

    /// The levels at which PostgreSQL shows the anomaly.
    pub fn postgres(&self) -> Vec<Isolation> {
        let shown = |level: &Isolation| self.possible.contains(level);
        self.postgres.clone().unwrap_or_else(|| POSTGRES_LEVELS.into_iter().filter(shown).collect())
    }

    fn on(&mut self, rest: &str, tables: &[Table]) -> Result<(), String> {
        self.tables = rest.split(',').map(|name| name.trim().to_owned()).collect();
        match self.tables.iter().find(|name| tables.iter().all(|table| table.name != **name)) {
            Some(unknown) => Err(format!("no table above is called `{unknown}`")),
            None => Ok(()),
        }
    }

    fn step(&mut self, session: usize, rest: &str) -> Result<(), String> {
        if self.ends(session) {
            return Err(format!("T{} has ended before", session + 1));
        }
        if !self.after.is_empty() {
            return Err("a step follows what is asked after all of them".to_owned());
        }
        self.sessions = self.sessions.max(session + 1);
        let statement = self.statement(rest)?;
        self.steps.push(Step { session, statement });
        Ok(())
    }

    fn ask(&mut self, rest: &str) -> Result<(), String> {
        let statement = self.statement(rest)?;
        if statement.reading.is_none() {
            return Err("expected `after QUERY => NAME`".to_owned());
        }
        self.after.push(statement);
        Ok(())
    }

    fn statement(&self, text: &str) -> Result<Statement, String> {
        let (sql, reading) = match text.split_once(" => ") {
            Some((sql, name)) => (sql.trim(), Some(name.trim().to_owned())),
            None => (text, None),
        };
        if let Some(name) = &reading
            && self.readings().any(|other| other == name)
        {
            return Err(format!("there is another reading `{name}`"));
        }
        Ok(Statement { sql: sql.to_owned(), reading })
    }

    fn readings(&self) -> impl Iterator<Item = &String> {
        let statements = self.steps.iter().map(|step| &step.statement).chain(&self.after);
        statements.filter_map(|statement| statement.reading.as_ref())
    }

    fn anomaly(&mut self, rest: &str) -> Result<(), String> {
        let terms = rest.split(" and ").map(|text| self.term(text.trim())).collect::<Result<_, _>>()?;
        self.anomalies.push(terms);
        Ok(())
    }

    fn term(&self, text: &str) -> Result<Term, String> {
        for (what, term) in [(" commits", Term::Commits as fn(usize) -> Term), (" refused", Term::Refused)] {
            if let Some(word) = text.strip_suffix(what) {
                let session = session(word)?;
                return if session < self.sessions { Ok(term(session)) } else { Err(format!("who is {word}?")) };
            }
        }
        let parts = match text.split_once(" <> ") {
            Some((reading, rows)) => Some((reading, false, rows)),
            None => text.split_once(" = ").map(|(reading, rows)| (reading, true, rows)),
        };
        let expected = || format!("`{text}`: expected NAME = 'ROWS', NAME <> 'ROWS', T1 commits, or T1 refused");
        let (reading, equal, rows) = parts.ok_or_else(expected)?;
        let rows = rows.strip_prefix('\'').and_then(|rows| rows.strip_suffix('\'')).ok_or_else(expected)?;
        if !self.readings().any(|name| name == reading) {
            return Err(format!("nothing above is called `{reading}`"));
        }
        Ok(Term::Reads { reading: reading.to_owned(), equal, rows: rows.to_owned() })
    }

    fn ends(&self, session: usize) -> bool {
        let mut own = self.steps.iter().filter(|step| step.session == session);
        own.next_back().is_some_and(|step| ["commit", "rollback"].contains(&step.statement.sql.as_str()))
    }
}

/// Checks a script that is complete, and adds the commits that go without saying.
fn finish(script: Option<&mut Script>) -> Result<(), String> {
    let Some(script) = script else { return Ok(()) };
    if script.sessions < 2 {
        return Err("a script has at least two sessions".to_owned());
    }
    if script.anomalies.is_empty() {
        return Err("nothing says what shows the anomaly".to_owned());
    }
    for session in script.sessions() {
        if !script.steps.iter().any(|step| step.session == session) {
            return Err(format!("T{} does nothing", session + 1));
        }
        if !script.ends(session) {
            let statement = Statement { sql: "commit".to_owned(), reading: None };
            script.steps.push(Step { session, statement });
        }
    }
    Ok(())
}

/// `at LEVEL, ...`, or `nowhere`.
fn levels(text: &str) -> Result<Vec<Isolation>, String> {
    if text == "nowhere" {
        return Ok(Vec::new());
    }
    let levels = text.strip_prefix("at ").ok_or("expected `at LEVEL, ...` or `nowhere`")?;
    levels.split(',').map(str::parse).collect()
}

/// `T1` is session 0.
fn session(word: &str) -> Result<usize, String> {
    let number = word.strip_prefix('T').and_then(|digits| digits.parse::<usize>().ok());
    let number = number.filter(|number| (1..=MAX_SESSIONS).contains(number));
    number
        .map(|number| number - 1)
        .ok_or_else(|| format!("`{word}`: expected a session (T1 to T{MAX_SESSIONS}), or one of {}", WORDS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read() {
        let text = "# note\ntable t: select 1 {or 2}; select 3\nscript A: b\n on t\n possible at snapshot, read-committed\n refuses 23505\n \
                    T2 commit\n T1 select 1 => x\n after select 2 => y\n anomaly x = '1' and T2 commits\n \
                    anomaly y <> '' and T1 refused\n";
        let Scripts { tables, scripts } = parse(text).expect("a script");
        let (script, table) = (&scripts[0], &tables[0]);
        assert_eq!(table.sql, "select 1; select 3");
        assert_eq!(table.partitioned.as_deref(), Some("select 1 or 2; select 3"));
        assert_eq!((script.name.as_str(), script.sessions), ("A: b", 2));
        assert_eq!((&script.tables[..], script.refusal.as_deref()), (&["t".to_owned()][..], Some("23505")));
        assert_eq!(script.possible, [Isolation::Snapshot, Isolation::ReadCommitted]);
        assert_eq!(script.postgres(), [Isolation::ReadCommitted, Isolation::Snapshot]);
        let steps: Vec<_> = script.steps.iter().map(|step| (step.session, step.statement.sql.as_str())).collect();
        assert_eq!(steps, [(1, "commit"), (0, "select 1"), (0, "commit")], "T1's commit goes without saying");
        let reads =
            |reading: &str, equal, rows: &str| Term::Reads { reading: reading.into(), equal, rows: rows.into() };
        assert_eq!(
            script.anomalies,
            [vec![reads("x", true, "1"), Term::Commits(1)], vec![reads("y", false, ""), Term::Refused(0)]]
        );
    }

    #[test]
    fn mistakes_are_shown() {
        let cases = [
            ("table t", 1, "expected `table NAME: STATEMENTS`"),
            ("table t: create {partitioned", 1, "a brace is not closed"),
            ("T1 select 1", 1, "`T1` stands before the first script"),
            ("script A", 1, "expected `script NAME: TITLE`"),
            ("script A: a\ncommit", 2, "`commit` says too little"),
            ("script A: a\nT1 commit\nT1 select 1", 3, "T1 has ended before"),
            ("script A: a\nT1 select 1 => x\nT2 select 1 => x", 3, "there is another reading `x`"),
            ("script A: a\nT1 commit\nT2 commit", 1, "nothing says what shows the anomaly"),
            ("script A: a\nT1 commit", 1, "a script has at least two sessions"),
            ("script A: a\nT2 select 1 => x\nanomaly x = '1'", 1, "T1 does nothing"),
            ("script A: a\nT1 commit\nafter select 1", 3, "expected `after QUERY => NAME`"),
            ("script A: a\nafter select 1 => x\nT1 commit", 3, "a step follows what is asked after all of them"),
            ("script A: a\nanomaly x = '1'", 2, "nothing above is called `x`"),
            ("script A: a\nT1 commit\nanomaly T2 commits", 3, "who is T2?"),
            (
                "script A: a\nT1 commit\nanomaly x",
                3,
                "`x`: expected NAME = 'ROWS', NAME <> 'ROWS', T1 commits, or T1 refused",
            ),
            ("script A: a\npossible snapshot", 2, "expected `at LEVEL, ...` or `nowhere`"),
            ("script A: a\non the moon", 2, "no table above is called `the moon`"),
        ];
        for (text, line, message) in cases {
            assert_eq!(parse(text).expect_err(text), Mistake { line, message: message.to_owned() }, "{text}");
        }
    }
}
