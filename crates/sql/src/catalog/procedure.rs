//! Procedures and functions: lists of statements that the database stores under a name. CALL executes a procedure; an
//! expression or a trigger executes a function.

use crate::catalog::DefaultValue;
use crate::opaque::Opaque;
use crate::parse::body::BodySyntax;
use crate::parse::procedure::{ArgumentMode, CreateProcedure, Language, Volatility};
use crate::schema::{plain, shown, split};
use crate::types::{DomainId, Styles, oid, type_name};
use hotrow_storage::Type;
use hotrow_sync::{Arc, RwLock};

/// Returns the key by which the catalog identifies a procedure or function: its full name and the types of the
/// arguments that go in, by their OIDs.
pub fn key(name: &str, inputs: impl IntoIterator<Item = Type>) -> String {
    let types: Vec<_> = inputs.into_iter().map(|ty| oid(ty).to_string()).collect();
    format!("{name}({})", types.join(","))
}

/// Returns the full name that a [key] contains.
pub fn name_in(key: &str) -> &str {
    key.rfind('(').map_or(key, |end| &key[..end])
}

/// Returns the name of the lock on all procedures and functions of a full name. No relation has this name.
pub fn lock_of(name: &str) -> String {
    format!("{name}\0procedure")
}

/// Returns the name under which the procedure or function of a key has its OID in the system relations. No relation has
/// this name.
pub fn numbered(key: &str) -> String {
    format!("{key}\0procedure")
}

/// An argument that a procedure or function declares, or a column of its RETURNS TABLE.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name of the argument, if it has one.
    pub name: Option<String>,
    /// Whether the argument is IN, OUT or INOUT, or a column of RETURNS TABLE.
    pub mode: ArgumentMode,
    /// The type of the argument. Lengths, precisions and scales are ignored, except that of `char(n)`.
    pub ty: Type,
    /// The domain of the argument, whose base type is `ty`. Signatures do not tell it from its base type.
    pub domain: Option<DomainId>,
    /// The default of the argument, or `None` if it has none: a call must supply the value of such an input argument.
    pub default: Option<DefaultValue>,
}

/// The properties of a function, which a procedure does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionTraits {
    /// The type of the result, or of each of its rows if [`is_set`](Self::is_set) is set.
    pub returns: Returns,
    /// Whether the result is any number of rows (SETOF, or RETURNS TABLE).
    pub is_set: bool,
    /// How far the result may change from call to call.
    pub volatility: Volatility,
    /// Whether the result is NULL if an argument is NULL. The body does not run then.
    pub strict: bool,
    /// The domain of the value that the function returns, if it returns one of a domain.
    pub domain: Option<DomainId>,
}

/// The type of a function's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Nothing (`void`).
    Nothing,
    /// A value of this type.
    Value(Type),
    /// A row of the OUT, INOUT and TABLE arguments, if there are several.
    Outputs,
    /// A row of the table or view of this name.
    RowOf(Arc<str>),
    /// `trigger`: the row that a trigger hands back to the change that fired it.
    Trigger,
}

/// The definition of a procedure or function.
#[derive(Debug)]
pub struct Procedure {
    /// The full name of the procedure or function. Others may have it too, with other types of arguments.
    pub name: String,
    /// The [key] by which the catalog identifies the procedure or function.
    pub key: String,
    /// The properties of the function; `None` for a procedure.
    pub function: Option<FunctionTraits>,
    /// The search path of the body; `None` if the body has the search path of the session.
    pub path: Option<String>,
    /// The language of the body.
    pub language: Language,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The body as it was written.
    pub syntax: Arc<BodySyntax>,
    /// The CREATE statement as it was written.
    pub text: String,
    /// The styles in which the literals of the body are read: those of the session that made the procedure.
    pub styles: Styles,
    /// The comment that COMMENT ON has set.
    pub comment: Option<String>,
    /// The bound body of the last binding, which is valid for the definitions of that time; `None` before the first
    /// binding.
    bound: RwLock<Option<Opaque>>,
}

impl Procedure {
    /// Makes a procedure or function whose body has not been bound yet. `name` is the full name.
    pub fn new(
        name: String,
        create: &CreateProcedure,
        arguments: Vec<Argument>,
        function: Option<FunctionTraits>,
        styles: Styles,
    ) -> Self {
        let CreateProcedure { path, language, body, text, .. } = create.clone();
        let (comment, bound) = (None, RwLock::default());
        let key = key_of(&name, &arguments);
        Self { name, key, function, path, language, arguments, syntax: body, text, styles, comment, bound }
    }

    /// Returns the procedure or function under another full name. Its body has not been bound yet.
    pub fn renamed(&self, name: &str) -> Self {
        let Self { function, path, language, arguments, syntax, text, styles, comment, .. } = self;
        Self {
            name: name.to_owned(),
            key: key_of(name, arguments),
            function: function.clone(),
            path: path.clone(),
            language: *language,
            arguments: arguments.clone(),
            syntax: syntax.clone(),
            text: text.clone(),
            styles: *styles,
            comment: comment.clone(),
            bound: RwLock::default(),
        }
    }

    /// Returns the procedure or function with another comment.
    pub fn commented(&self, comment: Option<String>) -> Self {
        Self { comment, ..self.renamed(&self.name) }
    }

    /// Returns the procedure or function with another search path of the body.
    pub fn with_path(&self, path: Option<String>) -> Self {
        Self { path, ..self.renamed(&self.name) }
    }

    /// Returns the function with another name of the relation whose rows it returns.
    pub fn with_row_of(&self, relation: &str) -> Self {
        let function = self
            .function
            .clone()
            .map(|function| FunctionTraits { returns: Returns::RowOf(relation.into()), ..function });
        Self { function, ..self.renamed(&self.name) }
    }

    /// Returns `function` or `procedure`, for messages.
    pub fn word(&self) -> &'static str {
        if self.function.is_some() { "function" } else { "procedure" }
    }

    /// Whether a call gives a value for an argument. A call of a procedure also does so for OUT arguments.
    pub fn is_given(&self, argument: &Argument) -> bool {
        self.function.is_none() || argument.mode.goes_in()
    }

    /// Returns the bound body of the last binding, or `None` if the body has not been bound. The caller must check that
    /// the definitions that it uses are current.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Stores the bound body for later calls.
    pub(crate) fn keep(&self, bound: Opaque) {
        *self.bound.write().unwrap_or_else(|poison| poison.into_inner()) = Some(bound);
    }

    /// Returns the name without the schema.
    pub fn plain_name(&self) -> &str {
        plain(&self.name)
    }

    /// Returns the name of the schema.
    pub fn schema_name(&self) -> &str {
        split(&self.name).0
    }

    /// Formats the name with the types of the input arguments: `pay(integer, numeric)`. The name has its schema, unless
    /// that is `public`.
    pub fn signature(&self) -> String {
        format!("{}({})", shown(&self.name), self.input_types(", "))
    }

    /// Formats the name with the types of the input arguments as PostgreSQL does in contexts: `pay(integer,numeric)`.
    /// The name has its schema, unless that is `public`.
    pub fn identity(&self) -> String {
        format!("{}({})", shown(&self.name), self.input_types(","))
    }

    /// Formats the types of the input arguments.
    pub fn input_types(&self, separator: &str) -> String {
        let types: Vec<_> = self.inputs().map(|argument| type_name(Some(argument.ty))).collect();
        types.join(separator)
    }

    /// Formats the place of a statement for the contexts of errors. In a body in PL/pgSQL, `line` is the statement's
    /// line and `what` its kind. In a body in SQL, `line` is the number of the statement, from one, and `what` is not
    /// used.
    pub fn place(&self, line: usize, what: &str) -> String {
        match self.language {
            Language::Sql => format!("SQL function \"{}\" statement {line}", self.plain_name()),
            Language::PlPgSql => format!("PL/pgSQL function {} line {line} at {what}", self.identity()),
        }
    }

    /// Returns the input arguments, to which callers give values: the IN and INOUT arguments, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.mode.goes_in())
    }

    /// Whether the input arguments have the same types as those of another procedure or function.
    pub fn has_inputs_of(&self, other: &Procedure) -> bool {
        self.key[self.name.len()..] == other.key[other.name.len()..]
    }

    /// Returns the OUT, INOUT and TABLE arguments, each with its position among all arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.arguments.iter().enumerate().filter(|(_, argument)| argument.mode.comes_out())
    }
}

fn key_of(name: &str, arguments: &[Argument]) -> String {
    key(name, arguments.iter().filter(|argument| argument.mode.goes_in()).map(|argument| argument.ty))
}
