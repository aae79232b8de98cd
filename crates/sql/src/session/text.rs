//! A client's text becomes statements: tokens, a parse, and a plan, which is a cached one if the text without its
//! literals has been planned before.

use super::Session;
use super::output::Output;
use super::run::Bound;
use crate::catalog::View;
use crate::client::{Client, Notice};
use crate::context::SessionContext;
use crate::database::plan;
use crate::parse::lex::{Token, character_position, long_names, tokenize, tokenize_within};
use crate::parse::normalise::Normalised;
use crate::parse::{self, Parsed};
use crate::plan::Statement;
use crate::schema::DATABASE_NUMBER;
use crate::types::Styles;
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;
use std::ops::Range;

/// The capacity that an idle session keeps to read the next query string, in tokens.
const KEPT_TOKENS: usize = 1024;

/// The buffers with which a session reads its client's texts.
#[derive(Debug, Default)]
pub(super) struct Reader {
    tokens: Vec<Token>,
    normalised: Normalised,
    cache_key: String,
}

impl Reader {
    /// Gives the memory back that a long query string has needed.
    pub(super) fn shrink(&mut self) {
        if self.tokens.capacity() > KEPT_TOKENS {
            *self = Self::default();
        }
    }
}

/// A statement of a query string, which has been parsed or found in the plan cache but has not run.
pub(super) enum Ready {
    /// A cached plan and the literals for it.
    Cached(Arc<Statement>, Vec<Value<'static>>),
    /// A parsed statement. If its plan is to be cached, also its text with the literals taken out.
    Parsed(Parsed, Option<Normalised>),
}

/// The place of a statement of the simple protocol in its text. The result of such a statement, unlike that of a
/// prepared one, was not described before it runs.
pub(super) struct Source<'s> {
    pub(super) text: &'s Arc<str>,
    /// The tokens of the whole text.
    pub(super) tokens: &'s [Token],
    /// The positions of the statement's own tokens.
    pub(super) range: Range<usize>,
}

impl Source<'_> {
    /// Plans the statement with its literals in place.
    pub(super) fn plan(&self, parsed: Parsed, view: View<'_>) -> Result<Arc<Statement>, SqlError> {
        let statement = plan(parsed, self.text, self.tokens, self.range.clone(), view, Vec::new())?;
        if statement.params.is_empty() {
            return Ok(Arc::new(statement));
        }
        let at = self.text.find('$').unwrap_or(0);
        Err(SqlError::new(state::UNDEFINED_PARAMETER, "there is no parameter $1").at(character_position(self.text, at)))
    }
}

impl Session {
    /// Runs the statements of a query string. They are one transaction unless they contain transaction control.
    pub(super) fn run_text(&mut self, sql: &str, client: &mut dyn Client) -> Result<(), SqlError> {
        let mut tokens = std::mem::take(&mut self.reader.tokens);
        tokens.clear();
        let result = self.query_string(sql, &mut tokens, client);
        self.reader.tokens = tokens;
        result
    }

    fn tell_long_names(&self, sql: &str, tokens: &[Token], tell: &mut dyn FnMut(Notice)) {
        const SEVERITY: &str = "NOTICE";
        for (name, cut) in long_names(sql, tokens) {
            if self.context.settings.borrow().tells(SEVERITY) {
                let message = format!("identifier \"{name}\" will be truncated to \"{cut}\"");
                tell(Notice { severity: SEVERITY, error: SqlError::new(state::NAME_TOO_LONG, message) });
            }
        }
    }

    fn query_string(&mut self, sql: &str, tokens: &mut Vec<Token>, client: &mut dyn Client) -> Result<(), SqlError> {
        let room = tokenize_within(sql, tokens, self.database.memory_limit())?;
        let ranges = parse::split(sql, tokens);
        if ranges.is_empty() {
            return client.empty();
        }
        self.tell_long_names(sql, tokens, &mut |notice| client.notice(notice));
        let text: Arc<str> = sql.into();
        // Everything is parsed before anything runs, so that a mistake in the last statement stops the first.
        let mut ready = Vec::with_capacity(ranges.len());
        for range in &ranges {
            ready.push(self.ready(sql, &tokens[range.clone()])?);
        }
        drop(room);
        let count = ranges.len();
        if let Some(members) = self.batch(&mut ready, &text, tokens, &ranges) {
            return self.within_limit(|session| session.run_batch(&members, client));
        }
        for (at, (range, ready)) in ranges.into_iter().zip(ready).enumerate() {
            let mut output = Output::simple(client, at + 1 == count);
            self.one_shot.whole = count == 1;
            let source = Source { text: &text, tokens, range };
            self.run_ready(&source, ready, count == 1, &mut output)?;
        }
        self.finish_implicit()
    }

    /// Returns a statement's cached plan, or its syntax if no plan is cached.
    pub(super) fn ready(&mut self, sql: &str, tokens: &[Token]) -> Result<Ready, SqlError> {
        self.context.follow_path();
        let mut normalised = std::mem::take(&mut self.reader.normalised);
        let (shared, own) = (self.database.catalog().index_literals(), self.context.view().temporary.index_literals());
        let is_kept = |text: &str| own.contains(text) || shared.as_ref().is_some_and(|known| known.contains(text));
        let cacheable = self.context.transaction.changes.is_empty() && normalised.fill(sql, tokens, &is_kept);
        let cached = if cacheable { self.cached(&normalised) } else { None };
        let ready = match cached {
            Some((statement, values)) => Ready::Cached(statement, values),
            None => {
                let kept = cacheable.then(|| normalised.clone());
                Ready::Parsed(parse::parse(sql, tokens)?, kept)
            }
        };
        self.reader.normalised = normalised;
        Ok(ready)
    }

    fn cached(&mut self, normalised: &Normalised) -> Option<(Arc<Statement>, Vec<Value<'static>>)> {
        self.reader.cache_key.clear();
        push_key(&mut self.reader.cache_key, &self.context, normalised);
        let statement = self.database.cached(&self.reader.cache_key)?;
        let values = literals(&statement, &normalised.values, self.context.styles())?;
        Some((statement, values))
    }

    fn run_ready(
        &mut self,
        source: &Source<'_>,
        ready: Ready,
        alone: bool,
        output: &mut Output<'_>,
    ) -> Result<(), SqlError> {
        let (statement, params) = self.resolve(source, ready)?;
        self.run(Bound { statement: &statement, params: &params, source: Some(source) }, alone, output)
    }

    /// Returns a statement's plan and the values of its parameters.
    pub(super) fn resolve(
        &mut self,
        source: &Source<'_>,
        ready: Ready,
    ) -> Result<(Arc<Statement>, Vec<Value<'static>>), SqlError> {
        match ready {
            Ready::Cached(statement, values) => Ok((statement, values)),
            Ready::Parsed(parsed, normalised) => {
                self.check_not_failed(&parsed)?;
                self.context.follow_path();
                self.start_implicit();
                let _room =
                    self.database.memory_limit().set_aside(source.text, &source.tokens[source.range.clone()])?;
                if let Some(planned) = normalised.and_then(|normalised| self.plan_normalised(&normalised)) {
                    return Ok(planned);
                }
                Ok((source.plan(parsed, self.view())?, Vec::new()))
            }
        }
    }

    /// Makes a plan for the text without its literals and keeps it for later statements. Returns `None` if that fails
    /// for any reason; the statement is then planned with its literals, so that errors have the right position.
    fn plan_normalised(&mut self, normalised: &Normalised) -> Option<(Arc<Statement>, Vec<Value<'static>>)> {
        let mut tokens = Vec::new();
        tokenize(&normalised.text, &mut tokens).ok()?;
        let parsed = parse::parse(&normalised.text, &tokens).ok()?;
        let text: Arc<str> = normalised.text.as_str().into();
        let statement = plan(parsed, &text, &tokens, 0..tokens.len(), self.view(), normalised.types()).ok()?;
        let values = literals(&statement, &normalised.values, self.context.styles())?;
        let statement = Arc::new(statement);
        if !statement.private {
            let mut key = String::new();
            push_key(&mut key, &self.context, normalised);
            self.database.cache(key, &statement);
        }
        Some((statement, values))
    }

    /// Parses and plans a text of at most one statement.
    pub(super) fn plan_text(
        &self,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        let mut tokens = Vec::new();
        let _room = tokenize_within(sql, &mut tokens, self.database.memory_limit())?;
        self.tell_long_names(sql, &tokens, tell);
        let ranges = parse::split(sql, &tokens);
        let range = match &ranges[..] {
            [] => 0..0,
            [range] => range.clone(),
            _ => {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
        };
        let parsed = parse::parse(sql, &tokens[range.clone()])?;
        self.check_not_failed(&parsed)?;
        let mut statement = plan(parsed, &sql.into(), &tokens, range, self.view(), types.to_vec())?;
        self.describe_fetch(&mut statement);
        Ok(Arc::new(statement))
    }
}

/// Appends the key of a plan in the cache. It consists of the styles in which literals are read, unless they are the
/// default; the database, unless it is `postgres`; the session's search path; and the text without its literals.
fn push_key(key: &mut String, context: &SessionContext, normalised: &Normalised) {
    context.push_styles_key(key);
    // Another database may get the name later.
    let number = context.shared().number();
    if number != DATABASE_NUMBER {
        key.push_str(&number.to_string());
        key.push('\u{1}');
    }
    if let Some(path) = context.path.as_deref() {
        path.push_key(key);
    }
    key.push_str(&normalised.kinds);
    key.push(' ');
    key.push_str(&normalised.text);
}

/// Converts a statement's literals to the types of its parameters. Returns `None` if one is not a value of its type.
fn literals(statement: &Statement, values: &[Value<'static>], styles: Styles) -> Option<Vec<Value<'static>>> {
    let literal = |(value, ty): (&Value<'static>, &Type)| match value {
        Value::Text(text) => crate::types::decode_text(*ty, text, styles).ok(),
        other => Some(other.clone()),
    };
    if values.len() != statement.params.len() {
        return None;
    }
    values.iter().zip(&statement.params).map(literal).collect()
}
