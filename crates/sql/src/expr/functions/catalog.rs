//! Functions that read the catalogs. The result for an object that does not exist is NULL, since its OID may be out of
//! date.

use super::argument::{Arguments, integer_of, text_of};
use super::function::{CatalogFunction, Function, Overload, RoutinePart};
use crate::context::SessionContext;
use crate::error::unsupported;
use crate::expr::Env;
use crate::{SqlError, state, system};
use hotrow_storage::{Array, Element, Registry, Type, Value};

macro_rules! overloads {
    ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
        const {
            &[$(Overload {
                function: Function::Catalog(CatalogFunction::$function),
                arguments: &[$($argument),*],
                result: $result,
            }),*]
        }
    };
}

/// The overloads of the function with this name, if it is one of the listed ones, and otherwise an empty list. The
/// listed functions are variants `$function` with their names, and take and return the same types.
macro_rules! of_each {
    ($name:expr, $function:ident, [$($known:literal),* $(,)?], $types:tt) => {
        match $name {
            $($known => of_one!($function($known), $types),)*
            _ => &[],
        }
    };
}

/// The overloads of a function whose variant has the function's name.
macro_rules! of_one {
    ($function:ident($name:literal), [$(($($argument:expr),*) -> $result:expr),* $(,)?]) => {
        const {
            &[$(Overload {
                function: Function::Catalog(CatalogFunction::$function($name)),
                arguments: &[$($argument),*],
                result: $result,
            }),*]
        }
    };
}

macro_rules! of_routine {
    ($part:ident) => {
        const {
            &[
                Overload {
                    function: Function::Catalog(CatalogFunction::Routine(RoutinePart::$part)),
                    arguments: &[Type::Int4],
                    result: Type::Text,
                },
                Overload {
                    function: Function::Catalog(CatalogFunction::Routine(RoutinePart::$part)),
                    arguments: &[Type::Int4, Type::Bool],
                    result: Type::Text,
                },
            ]
        }
    };
}

impl RoutinePart {
    /// Returns the part of the procedure, function or trigger with this OID, or `None` if there is none. If `pretty` is
    /// set, names are written without schemas where they suffice.
    fn of(self, context: &SessionContext, number: u32, pretty: bool) -> Option<String> {
        match self {
            RoutinePart::Definition => system::routine_definition(context, number),
            RoutinePart::Body => system::routine_body(context, number),
            RoutinePart::Arguments => system::routine_arguments(context, number, true),
            RoutinePart::IdentityArguments => system::routine_arguments(context, number, false),
            RoutinePart::Result => system::routine_result(context, number),
            RoutinePart::Trigger => system::trigger_definition(context, number, pretty),
        }
    }
}

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int2, Int4, Int8, Oid, Text};
    match name {
        "format_type" => overloads![FormatType(Int4, Int4) -> Text],
        "pg_get_userbyid" => overloads![UserById(Int4) -> Type::Name],
        "pg_table_is_visible" => overloads![IsVisible(Int4) -> Bool],
        "pg_type_is_visible" => overloads![TypeIsVisible(Int4) -> Bool],
        "pg_function_is_visible" => overloads![RoutineIsVisible(Int4) -> Bool],
        "pg_get_expr" => overloads![Expression(Text, Int4) -> Text, Expression(Text, Int4, Bool) -> Text],
        "pg_get_indexdef" => {
            overloads![
                IndexDefinition(Int4) -> Text,
                IndexDefinition(Int4, Int4, Bool) -> Text,
                IndexDefinition(Int4, Int2, Bool) -> Text,
            ]
        }
        "pg_get_constraintdef" => {
            overloads![ConstraintDefinition(Int4) -> Text, ConstraintDefinition(Int4, Bool) -> Text]
        }
        "pg_get_viewdef" => overloads![ViewDefinition(Int4) -> Text, ViewDefinition(Int4, Bool) -> Text],
        "pg_relation_is_updatable" => overloads![RelationChanges(Int4, Bool) -> Int4],
        "pg_column_is_updatable" => overloads![ColumnIsUpdatable(Int4, Int2, Bool) -> Bool],
        "acldefault" => of_one!(NoText("acldefault"), [(Text, Int4) -> Type::Array(Element::Text)]),
        "obj_description" => overloads![Comment(Int4) -> Text, Comment(Int4, Text) -> Text],
        "shobj_description" => overloads![SharedComment(Int4) -> Text, SharedComment(Int4, Text) -> Text],
        "col_description" => overloads![ColumnComment(Int4, Int4) -> Text],
        "pg_encoding_to_char" => overloads![Encoding(Int4) -> Text],
        "pg_char_to_encoding" => overloads![EncodingNumber(Text) -> Int4],
        "pg_tablespace_location" => overloads![Empty(Int4) -> Text],
        "pg_is_other_temp_schema" => overloads![OtherTemporarySchema(Oid) -> Bool],
        "pg_my_temp_schema" => overloads![TemporarySchema() -> Oid],
        "pg_size_pretty" => overloads![PrettySize(Int8) -> Text],
        "pg_is_in_recovery" => overloads![IsInRecovery() -> Bool],
        "to_regclass" => overloads![ToRelation(Text) -> Type::Reg(Registry::Class)],
        "to_regtype" => overloads![ToType(Text) -> Type::Reg(Registry::Type)],
        " regclass" => overloads![RelationNumber(Text) -> Type::Reg(Registry::Class), RelationName(Oid) -> Text],
        " regproc" => overloads![ProcedureNamed(Text) -> Text, ProcedureName(Int4) -> Text],
        " regprocedure" => overloads![SignatureNamed(Text) -> Text, ProcedureName(Int4) -> Text],
        "current_schemas" => overloads![CurrentSchemas(Bool) -> Type::Array(Element::Name)],
        " regnamespace" => overloads![SchemaNumber(Text) -> Type::Reg(Registry::Namespace), SchemaName(Oid) -> Text],
        "pg_describe_object" => of_one!(NoText("pg_describe_object"), [(Oid, Oid, Int4) -> Text]),
        "pg_get_functiondef" => of_routine!(Definition),
        "pg_get_function_sqlbody" => of_routine!(Body),
        "pg_get_function_arguments" => of_routine!(Arguments),
        "pg_get_function_identity_arguments" => of_routine!(IdentityArguments),
        "pg_get_function_result" => of_routine!(Result),
        "pg_get_triggerdef" => of_routine!(Trigger),
        " regtype" => overloads![TypeNumber(Text) -> Type::Reg(Registry::Type), TypeName(Oid) -> Text],
        _ => {
            let lists = [of_visibility(name), of_no_text(name), of_sizes(name), of_privileges(name)];
            lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
        }
    }
}

/// Returns the overloads of the function with this name, which asks whether an object is visible. All objects of its
/// kind are.
fn of_visibility(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int4};
    of_each!(
        name,
        AnyIsVisible,
        [
            "pg_opclass_is_visible",
            "pg_operator_is_visible",
            "pg_collation_is_visible",
            "pg_conversion_is_visible",
            "pg_opfamily_is_visible",
            "pg_ts_parser_is_visible",
            "pg_ts_dict_is_visible",
            "pg_ts_template_is_visible",
            "pg_ts_config_is_visible",
            "pg_statistics_obj_is_visible",
            "pg_relation_is_publishable",
        ],
        [(Int4) -> Bool]
    )
}

/// Returns the overloads of the function with this name, which describes an object of a kind that does not exist here.
fn of_no_text(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int4, Text};
    of_each!(
        name,
        NoText,
        [
            "pg_get_statisticsobjdef_columns",
            "pg_get_ruledef",
            "pg_get_partkeydef",
            "pg_get_partition_constraintdef",
            "pg_get_statisticsobjdef",
        ],
        [(Int4) -> Text, (Int4, Bool) -> Text]
    )
}

/// Returns the overloads of the function with this name, which measures a relation, a database or a tablespace.
fn of_sizes(name: &str) -> &'static [Overload] {
    use Type::{Int4, Int8, Text};
    match name {
        "pg_database_size" | "pg_tablespace_size" => of_each!(
            name,
            DatabaseSize,
            ["pg_database_size", "pg_tablespace_size"],
            [(Text) -> Int8, (Int4) -> Int8]
        ),
        _ => of_each!(
            name,
            Size,
            ["pg_table_size", "pg_relation_size", "pg_total_relation_size"],
            [(Int4) -> Int8, (Int4, Text) -> Int8]
        ),
    }
}

/// Returns the overloads of the function with this name, which asks for privileges.
fn of_privileges(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int2, Int4, Text};
    match name {
        "has_column_privilege" => of_one!(
            Privilege("has_column_privilege"),
            [
                (Text, Text, Text) -> Bool,
                (Text, Int2, Text) -> Bool,
                (Int4, Text, Text) -> Bool,
                (Int4, Int2, Text) -> Bool,
                (Text, Text, Text, Text) -> Bool,
                (Text, Int4, Int2, Text) -> Bool,
            ]
        ),
        _ => of_each!(
            name,
            Privilege,
            [
                "has_database_privilege",
                "has_schema_privilege",
                "has_table_privilege",
                "has_sequence_privilege",
                "has_function_privilege",
                "has_any_column_privilege",
                "has_type_privilege",
                "has_language_privilege",
                "has_tablespace_privilege",
                "has_foreign_data_wrapper_privilege",
                "has_server_privilege",
                "pg_has_role",
            ],
            [
                (Text, Text) -> Bool,
                (Int4, Text) -> Bool,
                (Text, Text, Text) -> Bool,
                (Text, Int4, Text) -> Bool,
                (Int4, Int4, Text) -> Bool,
            ]
        ),
    }
}

impl CatalogFunction {
    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(
        self,
        [first, second, third, ..]: &Arguments<'a>,
        env: &Env<'a>,
    ) -> Result<Value<'a>, SqlError> {
        let Some(context) = env.context else { return Err(unsupported("a look into the catalogs in this place")) };
        let number = match first {
            Value::Int4(number) => number.cast_unsigned(),
            other => u32::try_from(integer_of(other)).unwrap_or_default(),
        };
        let text = |text: Option<String>| Ok(text.map_or(Value::Null, |text| Value::Text(text.into())));
        let found = |number: Option<u32>| number.map_or(Value::Null, |number| Value::Int4(number.cast_signed()));
        match self {
            CatalogFunction::FormatType => {
                let modifier = i32::try_from(integer_of(second)).unwrap_or(-1);
                text(Some(system::format_type(context, number, modifier)))
            }
            CatalogFunction::UserById => Ok(Value::text("postgres")),
            CatalogFunction::IsVisible => Ok(answer(system::is_visible(context, number))),
            CatalogFunction::RoutineIsVisible => Ok(answer(system::is_visible_routine(context, number))),
            CatalogFunction::TypeIsVisible => Ok(answer(system::is_visible_type(context, number))),
            CatalogFunction::AnyIsVisible(_) | CatalogFunction::Privilege(_) => Ok(Value::Bool(true)),
            CatalogFunction::IsInRecovery => Ok(Value::Bool(false)),
            CatalogFunction::Expression => {
                let expression = text_of(first);
                let is_pretty = *third == Value::Bool(true);
                let bare = if is_pretty { system::without_parentheses(expression) } else { expression };
                text(Some(bare.to_owned()))
            }
            CatalogFunction::IndexDefinition => {
                let column = usize::try_from(integer_of(second)).unwrap_or_default();
                text(system::index_definition(context, number, column, *third == Value::Bool(true)))
            }
            CatalogFunction::ConstraintDefinition => text(system::constraint_definition(context, number)),
            CatalogFunction::ViewDefinition => text(system::view_definition(context, number)),
            CatalogFunction::RelationChanges => Ok(changes_of(context, number, second)),
            CatalogFunction::ColumnIsUpdatable => Ok(is_updatable(context, number, second, third)),
            CatalogFunction::Routine(part) => text(part.of(context, number, *second == Value::Bool(true))),
            CatalogFunction::Comment => {
                text(system::comment_on(context, number, (!second.is_null()).then(|| text_of(second)), 0))
            }
            CatalogFunction::ColumnComment => match usize::try_from(integer_of(second)) {
                Ok(column) if column > 0 => text(system::comment_on(context, number, None, column)),
                _ => Ok(Value::Null),
            },
            CatalogFunction::SharedComment | CatalogFunction::NoText(_) => Ok(Value::Null),
            CatalogFunction::Size(_) => {
                Ok(system::size(context, number).map_or(Value::Null, |bytes| Value::Int8(bytes as i64)))
            }
            CatalogFunction::ProcedureNamed | CatalogFunction::SignatureNamed => {
                text(Some(function_named(text_of(first), self == CatalogFunction::SignatureNamed)?))
            }
            CatalogFunction::ProcedureName => text(Some(system::number_or_none(number))),
            CatalogFunction::SchemaNumber => {
                match system::number_of_schema_name(context, &regnamespace(text_of(first))) {
                    Some(number) => Ok(found(Some(number))),
                    None => Err(crate::schema::undefined_schema(&regnamespace(text_of(first)))),
                }
            }
            CatalogFunction::SchemaName => text(Some(system::name_of_object(context, Registry::Namespace, number))),
            CatalogFunction::DatabaseSize(_) => {
                let sizes =
                    context.view().tables().into_iter().map(|table| context.shared().engine().memory(table.id).bytes());
                Ok(Value::Int8(sizes.sum::<u64>() as i64))
            }
            CatalogFunction::EncodingNumber => {
                let is_utf8 = matches!(text_of(first).to_lowercase().replace('-', "").as_str(), "utf8" | "unicode");
                Ok(Value::Int4(if is_utf8 { 6 } else { -1 }))
            }
            CatalogFunction::Empty => Ok(Value::text("")),
            // A session does not see the schemas of others.
            CatalogFunction::OtherTemporarySchema => Ok(Value::Bool(false)),
            CatalogFunction::TemporarySchema => Ok(found(Some(temporary_schema(context)))),
            CatalogFunction::CurrentSchemas => Ok(current_schemas(context, *first == Value::Bool(true))),
            CatalogFunction::Encoding => Ok(Value::text(if number == 6 { "UTF8" } else { "" })),
            CatalogFunction::PrettySize => text(Some(pretty(integer_of(first)))),
            CatalogFunction::ToRelation => Ok(found(system::number_of_relation(context, text_of(first)))),
            CatalogFunction::RelationNumber => match system::number_of_relation(context, text_of(first)) {
                Some(number) => Ok(found(Some(number))),
                None if text_of(first).bytes().all(|byte| byte.is_ascii_digit()) && !text_of(first).is_empty() => {
                    Ok(found(text_of(first).parse().ok()))
                }
                None => {
                    context.view().check_database(&crate::parse::written_name(text_of(first))?)?;
                    Err(crate::schema::undefined_table(text_of(first)))
                }
            },
            CatalogFunction::RelationName => text(Some(system::name_of_object(context, Registry::Class, number))),
            CatalogFunction::ToType => Ok(found(system::number_of_type(context, text_of(first)))),
            CatalogFunction::TypeNumber => Ok(found(Some(type_number(context, text_of(first))?))),
            CatalogFunction::TypeName => text(Some(system::name_of_object(context, Registry::Type, number))),
        }
    }
}

/// Returns the schemas of the search path, with those that are searched without being in it if `adds_implicit` is set.
fn current_schemas<'a>(context: &SessionContext, adds_implicit: bool) -> Value<'a> {
    let view = context.view();
    let path: Vec<_> = view.path_schemas().collect();
    let temporary = view.implicit_schema().filter(|_| adds_implicit);
    let system = (adds_implicit && !path.contains(&"pg_catalog")).then_some("pg_catalog");
    let schemas = temporary.into_iter().chain(system).chain(path).map(Value::text);
    Value::Array(Array::new(Element::Name, schemas))
}

/// Returns the result of `pg_relation_is_updatable`.
fn changes_of(context: &SessionContext, number: u32, with_triggers: &Value<'_>) -> Value<'static> {
    Value::Int4(system::changes_of(context, number, *with_triggers == Value::Bool(true)))
}

/// Returns the result of `pg_column_is_updatable`.
fn is_updatable(
    context: &SessionContext,
    number: u32,
    column: &Value<'_>,
    with_triggers: &Value<'_>,
) -> Value<'static> {
    let with_triggers = *with_triggers == Value::Bool(true);
    Value::Bool(system::is_column_updatable(context, number, integer_of(column), with_triggers))
}

/// Returns a Boolean property of an object, or NULL if there is no such object.
fn answer(known: Option<bool>) -> Value<'static> {
    known.map_or(Value::Null, Value::Bool)
}

/// Returns the OID of the schema of the session's temporary relations, or zero if the session has never had any.
fn temporary_schema(context: &SessionContext) -> u32 {
    let number = |schema: &str| system::number_of_schema_name(context, schema);
    context.view().temporary.schema().and_then(number).unwrap_or(0)
}

/// Returns the OID of the type that a text names.
///
/// # Errors
/// 42704 if there is no such type, 3F000 if there is no such schema.
fn type_number(context: &SessionContext, name: &str) -> Result<u32, SqlError> {
    if let Some(number) = system::number_of_type(context, name) {
        return Ok(number);
    }
    match crate::parse::written_name(name).ok().and_then(|name| name.schema) {
        Some(schema) if !context.view().has_schema(&schema) => Err(crate::schema::undefined_schema(&schema)),
        _ => Err(SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))),
    }
}

/// Returns the name of a built-in function that a text names, for a cast to `regproc`. Only the input and output
/// functions of types are found. If `has_types` is set, the text also lists the types of the arguments, which are
/// ignored.
///
/// # Errors
/// 42883 if there is no such function.
fn function_named(text: &str, has_types: bool) -> Result<String, SqlError> {
    let name = text.split_once('(').filter(|_| has_types).map_or(text, |(name, _)| name.trim());
    let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
    match system::is_type_function(plain) {
        true => Ok(plain.to_owned()),
        false => Err(SqlError::new(state::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"))),
    }
}

/// Returns the name of the schema that a text means: the text is read as a name, or taken as it is if it is none.
fn regnamespace(text: &str) -> String {
    crate::parse::written_name(text).map_or_else(|_| text.to_owned(), |name| name.name)
}

/// Writes a size in the first unit in which it is below 10 × 1024, as `pg_size_pretty` does.
fn pretty(bytes: i64) -> String {
    let mut size = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if size.abs() < 10 * 1024 || unit == "TB" {
            return format!("{size} {unit}");
        }
        size = (size + 512) / 1024;
    }
    format!("{size} PB")
}
