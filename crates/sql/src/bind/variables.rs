//! The arguments and variables that the statements of a body may name.
//!
//! A variable has a *slot*, its position in the body's frame. A variable that has a row has a slot for each field.

use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{BoundDomain, Expr, Strictness, can_cast};
use crate::parse::body::{TargetSyntax, VariableSyntax};
use crate::plan::{Slots, Target};
use crate::types::type_name;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use hotrow_txn::number_of;
use std::collections::HashMap;

/// The arguments and variables that the names at a place of a body may mean, the outermost first. If two have the same
/// name, the inner one hides the outer one.
#[derive(Debug)]
pub(crate) struct Variables {
    /// The name of the procedure or function. The body may qualify the names of variables with it.
    procedure: String,
    known: Vec<Known>,
    /// The type of each slot.
    types: Vec<Type>,
    /// The number of arguments, which have the first slots. The body may also name them by number, as `$1`.
    arguments: usize,
    /// The slots of declared variables and of the fields of records, by the address of the declaration. A declaration
    /// gets a run of slots for each list of types that it has had. If it comes again with the same types, it gets the
    /// same slots again, so that plans stay valid.
    slots: HashMap<*const VariableSyntax, Vec<(Fields, usize)>>,
    /// Whether the statements are bound one by one while the body runs. Then the fields of a record are those of its
    /// last row. Otherwise they depend on the way by which the body comes to a place.
    is_dynamic: bool,
    /// The positions in `known` of the records whose fields have changed, once for each change, in the order of the
    /// body's text.
    reshaped: Vec<usize>,
    /// The slot of the array whose first element has the subscript 0, which is that of `TG_ARGV`; `None` outside
    /// triggers.
    from_zero: Option<usize>,
    /// The domains of the slots that have one.
    domains: HashMap<usize, Arc<BoundDomain>>,
}

/// The names and types of the fields of a row.
type Fields = Vec<(String, Type)>;

#[derive(Clone, Debug)]
struct Known {
    name: Option<String>,
    holder: Holder,
    constant: bool,
    not_null: bool,
    /// The address of the declaration; null for an argument and for any other variable that the body does not declare.
    declaration: *const VariableSyntax,
}

/// The contents of a variable: a value or a row.
#[derive(Clone, Debug)]
enum Holder {
    /// A value, in this slot.
    Value(usize),
    /// A row of a table or view, with the names and slots of its fields.
    Row(Vec<(String, usize)>),
    /// A record, with the names and slots of the fields of its last row; `None` before the first row.
    Record(Option<Vec<(String, usize)>>),
    /// A record whose fields are not known: at this place, it may have a row of one query or of another.
    Unclear,
}

/// The contents of all variables at a place of a body.
#[derive(Debug)]
pub(super) struct Shapes(Vec<Holder>);

/// The contents of a variable, as its declaration gives them.
#[derive(Debug)]
pub(crate) enum Contents {
    /// A value of this type, and of this domain if there is one.
    Value(Type, Option<Arc<BoundDomain>>),
    /// A row of a table or view, with the names and types of its fields.
    Row(Vec<(String, Type)>),
    /// A record, which may have rows of any queries.
    Record,
    /// Another name for the variable of this name, or for the argument of this number (`$1`).
    Alias(String),
}

impl Contents {
    /// Returns the type of the variable's value, and its domain if it has one.
    ///
    /// # Errors
    /// 0A000 if the variable has no single value, so that it cannot have a first value.
    pub(crate) fn value_type(&self) -> Result<(Type, Option<&Arc<BoundDomain>>), SqlError> {
        match self {
            Contents::Value(ty, domain) => Ok((*ty, domain.as_ref())),
            Contents::Row(_) | Contents::Record | Contents::Alias(_) => Err(unsupported("a first value for a row")),
        }
    }
}

/// The beginning of a block. When the block ends, the variables since then are removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockStart(usize);

impl Variables {
    /// Makes the variables that a body has before its declarations: the arguments, and `found`. `is_dynamic` says that
    /// the statements are bound one by one while the body runs, so that a record has the fields of its last row.
    pub(crate) fn new<'n>(
        procedure: &str,
        arguments: impl IntoIterator<Item = (Option<&'n str>, Type)>,
        is_dynamic: bool,
    ) -> Self {
        let mut variables = Self {
            procedure: procedure.to_owned(),
            known: Vec::new(),
            types: Vec::new(),
            arguments: 0,
            slots: HashMap::new(),
            is_dynamic,
            reshaped: Vec::new(),
            from_zero: None,
            domains: HashMap::new(),
        };
        for (name, ty) in arguments {
            variables.push(name.map(str::to_owned), ty);
        }
        variables.arguments = variables.types.len();
        // An argument may have the name `found`, too.
        let found = variables.known("found").is_none().then(|| "found".to_owned());
        variables.push(found, Type::Bool);
        variables
    }

    fn push(&mut self, name: Option<String>, ty: Type) {
        let holder = Holder::Value(self.types.len());
        self.types.push(ty);
        let declaration = std::ptr::null();
        self.known.push(Known { name, holder, constant: false, not_null: false, declaration });
    }

    /// Adds a variable with a value that the body does not declare.
    pub(super) fn add(&mut self, name: &str, ty: Type) {
        self.push(Some(name.to_owned()), ty);
    }

    /// Returns the slot of the first field of a variable that has a row.
    pub(super) fn first_of(&self, name: &str) -> usize {
        match self.known(name).map(|known| &known.holder) {
            Some(Holder::Row(fields)) => fields.first().map_or(0, |(_, slot)| *slot),
            _ => 0,
        }
    }

    /// Makes the values of a slot those of a domain.
    pub(super) fn restrict(&mut self, slot: usize, domain: Arc<BoundDomain>) {
        self.domains.insert(slot, domain);
    }

    /// Returns the value of a slot.
    fn value(&self, slot: usize) -> Typed {
        let domain = self.domains.get(&slot).map(|domain| domain.id);
        Typed::new(Expr::Param(slot), self.types[slot]).of_domain(domain)
    }

    /// Returns the assignment of a value of type `from` to a slot.
    fn target_of(&self, slot: usize, from: Type, not_null: Option<Arc<str>>) -> Target {
        Target { slot, from, to: self.types[slot], not_null, domain: self.domains.get(&slot).cloned() }
    }

    /// Sets the subscript of the first element to 0 for the array in the last slot.
    pub(super) fn count_from_zero(&mut self) {
        self.from_zero = self.types.len().checked_sub(1);
    }

    /// Whether the first element of the array in a slot has the subscript 0.
    pub(super) fn is_from_zero(&self, slot: usize) -> bool {
        self.from_zero == Some(slot)
    }

    /// Adds a variable with a row that the body does not declare.
    pub(super) fn add_row(&mut self, name: &str, fields: Fields) {
        let first = self.types.len();
        self.types.extend(fields.iter().map(|(_, ty)| *ty));
        let holder = Holder::Row(fields.into_iter().map(|(field, _)| field).zip(first..).collect());
        let (name, declaration) = (Some(name.to_owned()), std::ptr::null());
        self.known.push(Known { name, holder, constant: false, not_null: false, declaration });
    }

    /// Returns the fields of the variable of this name, or `None` if it has no row or does not exist.
    ///
    /// # Errors
    /// 55000 for a record that has no row yet, 0A000 for one that may have rows of different queries here.
    pub(super) fn fields(&self, name: &str) -> Result<Option<Vec<(String, Typed)>>, SqlError> {
        let typed = |(field, slot): &(String, usize)| (field.clone(), self.value(*slot));
        match self.known(name).map(|known| &known.holder) {
            Some(Holder::Row(fields) | Holder::Record(Some(fields))) => Ok(Some(fields.iter().map(typed).collect())),
            Some(Holder::Record(None)) => Err(not_assigned(name)),
            Some(Holder::Unclear) => Err(unclear(name)),
            Some(Holder::Value(_)) | None => Ok(None),
        }
    }

    /// Returns the contents of all variables at this place of the body.
    pub(super) fn shapes(&self) -> Shapes {
        Shapes(self.known.iter().map(|known| known.holder.clone()).collect())
    }

    /// Sets the variables to the contents that they had at an earlier place.
    pub(super) fn restore(&mut self, shapes: &Shapes) {
        for (known, holder) in self.known.iter_mut().zip(&shapes.0) {
            known.holder.clone_from(holder);
        }
    }

    /// Merges the contents that the variables have on another way to this place. A record that has different fields on
    /// the two ways becomes unclear.
    pub(super) fn merge(&mut self, shapes: &Shapes) {
        for (known, other) in self.known.iter_mut().zip(&shapes.0) {
            match (&known.holder, other) {
                (Holder::Record(None), Holder::Record(Some(_))) | (Holder::Record(_), Holder::Unclear) => {
                    known.holder.clone_from(other);
                }
                (Holder::Record(Some(one)), Holder::Record(Some(another))) if one != another => {
                    known.holder = Holder::Unclear;
                }
                _ => {}
            }
        }
    }

    /// Sets the record after INTO, if there is one, to the contents that it had at an earlier place.
    pub(super) fn restore_record(&mut self, into: &[TargetSyntax], shapes: &Shapes) {
        let [TargetSyntax { name, field: None }] = into else { return };
        let Some(at) = self.known.iter().rposition(|known| known.name.as_ref() == Some(name)) else { return };
        if let Some(holder) = shapes.0.get(at) {
            self.known[at].holder.clone_from(holder);
        }
    }

    /// Returns how often the fields of a record have changed so far.
    pub(super) fn times_reshaped(&self) -> usize {
        self.reshaped.len()
    }

    /// Makes those records unclear whose fields have changed since `since`, an earlier result of
    /// [`times_reshaped`](Self::times_reshaped), because the body may come to this place before or after each change.
    /// Returns whether there were any changes.
    pub(super) fn blur(&mut self, since: usize) -> bool {
        let reshaped = &self.reshaped[since..];
        for &at in reshaped {
            if let Some(known) = self.known.get_mut(at) {
                known.holder = Holder::Unclear;
            }
        }
        !reshaped.is_empty()
    }

    /// Adds a slot without a name, and returns it.
    pub(super) fn unnamed(&mut self, ty: Type) -> usize {
        self.types.push(ty);
        self.types.len() - 1
    }

    /// Returns the type of each slot.
    pub(crate) fn types(&self) -> &[Type] {
        &self.types
    }

    /// Returns the slot of `found`.
    pub(crate) fn found(&self) -> usize {
        self.arguments
    }

    /// Returns the slot of each variable, which for a row is that of its first field. A plan of a statement remains
    /// valid as long as the stamp at the statement is the one for which the plan was made. Stamps of different places
    /// of a body cannot be compared.
    pub(crate) fn stamp(&self) -> Vec<usize> {
        let slot_of = |known: &Known| match &known.holder {
            Holder::Value(slot) => *slot,
            Holder::Row(fields) | Holder::Record(Some(fields)) => fields.first().map_or(usize::MAX - 1, |(_, at)| *at),
            Holder::Record(None) | Holder::Unclear => usize::MAX,
        };
        self.known.iter().map(slot_of).collect()
    }

    /// Begins a block, whose variables hide those around it.
    pub(crate) fn enter(&self) -> BlockStart {
        BlockStart(self.known.len())
    }

    /// Removes the variables of a block that ends.
    pub(crate) fn leave(&mut self, start: BlockStart) {
        self.known.truncate(start.0);
    }

    /// Returns the first slot for a declaration with these fields; a variable with a value counts as one field. The
    /// slots are those that the declaration has had before with these fields, or else new ones.
    fn slots_for(&mut self, declaration: *const VariableSyntax, fields: Fields) -> usize {
        let had = self.slots.entry(declaration).or_default();
        if let Some((_, first)) = had.iter().find(|(known, _)| *known == fields) {
            return *first;
        }
        let first = self.types.len();
        self.types.extend(fields.iter().map(|(_, ty)| *ty));
        had.push((fields, first));
        first
    }

    fn known(&self, name: &str) -> Option<&Known> {
        self.known.iter().rfind(|known| known.name.as_deref() == Some(name))
    }

    /// Returns the value of a variable or field, or `None` if there is none of this name. `relation` is the name before
    /// the point, if there is one: that of the procedure, or of a variable that has a row.
    ///
    /// # Errors
    /// 55000 for a record that has no row yet, 0A000 for one that may have rows of different queries here, and 42703
    /// for a row without such a field.
    pub(super) fn find(&self, relation: Option<&str>, name: &str) -> Result<Option<Typed>, SqlError> {
        let slot = match relation {
            Some(relation) => match self.known(relation).map(|known| &known.holder) {
                Some(Holder::Record(None)) => {
                    return Err(not_assigned(relation));
                }
                Some(Holder::Unclear) => return Err(unclear(relation)),
                Some(Holder::Row(fields) | Holder::Record(Some(fields))) => {
                    Some(field(fields, name).ok_or_else(|| no_field(relation, name))?)
                }
                _ if relation == self.procedure => self.slot(name),
                _ => None,
            },
            None => self.slot(name),
        };
        Ok(slot.map(|slot| self.value(slot)))
    }

    fn slot(&self, name: &str) -> Option<usize> {
        match self.known(name)?.holder {
            Holder::Value(slot) => Some(slot),
            Holder::Row(_) | Holder::Record(_) | Holder::Unclear => None,
        }
    }

    /// Whether the procedure has an argument `$number`.
    pub(super) fn has_argument(&self, number: usize) -> bool {
        number <= self.arguments
    }

    /// Declares a variable of the present block. Returns its slots, of which another name for a variable has none.
    ///
    /// # Errors
    /// 42704 if there is no variable for which the other name could stand, 0A000 if that variable is a record.
    pub(crate) fn declare(&mut self, variable: &VariableSyntax, contents: Contents) -> Result<Slots, SqlError> {
        let declaration: *const VariableSyntax = variable;
        let (first, width, holder) = match contents {
            Contents::Value(ty, domain) => {
                let first = self.slots_for(declaration, vec![(String::new(), ty)]);
                match domain {
                    Some(domain) => self.domains.insert(first, domain),
                    None => self.domains.remove(&first),
                };
                (first, 1, Holder::Value(first))
            }
            Contents::Row(fields) => {
                let names: Vec<_> = fields.iter().map(|(name, _)| name.clone()).collect();
                let (first, width) = (self.slots_for(declaration, fields), names.len());
                (first, width, Holder::Row(names.into_iter().zip(first..).collect()))
            }
            Contents::Record => (self.types.len(), 0, Holder::Record(None)),
            Contents::Alias(of) => {
                let known = Known { name: Some(variable.name.clone()), ..self.aliased(&of)?.clone() };
                self.known.push(known);
                return Ok(Slots { first: self.types.len(), width: 0, records: Vec::new(), not_null: None });
            }
        };
        let (name, constant, not_null) = (Some(variable.name.clone()), variable.constant, variable.not_null);
        self.known.push(Known { name, holder, constant, not_null, declaration });
        let not_null = variable.not_null.then(|| Arc::from(variable.name.as_str()));
        Ok(Slots { first, width, records: Vec::new(), not_null })
    }

    /// Returns the variable of this name, or the argument of this number (`$1`), for which ALIAS FOR declares another
    /// name.
    fn aliased(&self, name: &str) -> Result<&Known, SqlError> {
        let number = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
        let found = match number {
            Some(number) => number.checked_sub(1).and_then(|at| self.known[..self.arguments].get(at)),
            None => match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
                Some(quoted) => self.known(&quoted.replace("\"\"", "\"")),
                None => self.known(&name.to_lowercase()),
            },
        };
        match found {
            Some(Known { holder: Holder::Record(_) | Holder::Unclear, .. }) => {
                Err(unsupported("another name of a record"))
            }
            Some(known) => Ok(known),
            None => Err(SqlError::new(state::UNDEFINED_OBJECT, format!("variable \"{name}\" does not exist"))),
        }
    }

    /// Returns the slots of all fields that the record of a declaration has had: for each list of fields, the first
    /// slot and their number.
    pub(super) fn record_slots(&self, variable: &VariableSyntax) -> Vec<(usize, usize)> {
        let had = self.slots.get(&std::ptr::from_ref(variable)).into_iter().flatten();
        had.map(|(fields, first)| (*first, fields.len())).collect()
    }

    /// Returns the type of the value of a variable or field, and its domain if it has one.
    pub(crate) fn type_of(&self, target: &TargetSyntax) -> Result<(Type, Option<&Arc<BoundDomain>>), SqlError> {
        let slot = self.target_slot(target)?.0;
        Ok((self.types[slot], self.domains.get(&slot)))
    }

    /// Returns the assignment of a value of type `from` to a variable or field.
    pub(crate) fn target(&self, target: &TargetSyntax, from: Type) -> Result<Target, SqlError> {
        let (slot, known) = self.target_slot(target)?;
        let to = self.types[slot];
        let name = known.name.as_deref().unwrap_or_default();
        if known.constant {
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(SqlError::new(state::ERROR_IN_ASSIGNMENT, message));
        }
        check_assignable(target.field.as_deref().unwrap_or(name), from, to)?;
        Ok(self.target_of(slot, from, known.not_null.then(|| name.into())))
    }

    /// Returns the assignment of a value of type `from` to the variable in this slot.
    pub(crate) fn target_at(&self, slot: usize, from: Type) -> Result<Target, SqlError> {
        let named = self.known.iter().rev().find_map(|known| {
            let field = match &known.holder {
                Holder::Value(at) => (*at == slot).then_some(None)?,
                Holder::Row(fields) | Holder::Record(Some(fields)) => {
                    Some(fields.iter().find(|(_, at)| *at == slot)?.0.clone())
                }
                Holder::Record(None) | Holder::Unclear => return None,
            };
            Some(TargetSyntax { name: known.name.clone()?, field })
        });
        self.target(&named.ok_or_else(|| unknown_variable(""))?, from)
    }

    /// Returns the slot of the variable or field that a value is assigned to, with its variable. As where values are
    /// [read](Self::find), `a.b` means a field if `a` has a row, and else the variable `b` if the procedure is `a`.
    fn target_slot(&self, target: &TargetSyntax) -> Result<(usize, &Known), SqlError> {
        let TargetSyntax { name, field: part } = target;
        let has_row = |known: &&Known| !matches!(known.holder, Holder::Value(_));
        let (known, part) = match part {
            None => (self.known(name), None),
            Some(part) => match self.known(name).filter(has_row) {
                None if *name == self.procedure => (self.known(part), None),
                known => (known, Some(part)),
            },
        };
        let Some(known) = known else {
            return Err(match &target.field {
                Some(part) => unknown_variable(&format!("{name}.{part}")),
                None => unknown_variable(name),
            });
        };
        let slot = match (&known.holder, part) {
            (Holder::Value(slot), _) => *slot,
            (Holder::Row(fields) | Holder::Record(Some(fields)), Some(part)) => {
                field(fields, part).ok_or_else(|| no_field(name, part))?
            }
            (Holder::Record(None), Some(_)) => return Err(not_assigned(name)),
            (Holder::Unclear, Some(_)) => return Err(unclear(name)),
            (Holder::Row(_) | Holder::Record(_) | Holder::Unclear, None) => {
                return Err(unsupported("an assignment of a value to a whole row"));
            }
        };
        Ok((slot, known))
    }

    /// Returns the assignments of a row's columns to the variables after INTO. A record gets the columns as its fields.
    ///
    /// # Errors
    /// 42601 if the numbers of columns and variables differ, 42804 if a value cannot be assigned to its variable.
    pub(crate) fn targets(&mut self, into: &[TargetSyntax], columns: &[OutputColumn]) -> Result<Vec<Target>, SqlError> {
        if let [TargetSyntax { name, field: None }] = into
            && let Some(at) = self.known.iter().rposition(|known| known.name.as_ref() == Some(name))
        {
            if let Holder::Record(_) | Holder::Unclear = &self.known[at].holder {
                self.shape(at, columns);
            }
            if let Holder::Row(fields) | Holder::Record(Some(fields)) = &self.known[at].holder {
                check_count(fields.len(), columns.len())?;
                return fields
                    .iter()
                    .zip(columns)
                    .map(|((name, slot), column)| {
                        let (from, to) = (column.ty, self.types[*slot]);
                        check_assignable(name, from, to)?;
                        Ok(self.target_of(*slot, from, None))
                    })
                    .collect();
            }
        }
        check_count(into.len(), columns.len())?;
        into.iter().zip(columns).map(|(target, column)| self.target(target, column.ty)).collect()
    }

    /// Returns the assignments of a row's columns to the variables after INTO for EXECUTE, whose columns are not known
    /// before it runs. The assignments take the columns to have the types of the variables.
    ///
    /// # Errors
    /// 0A000 for a record whose fields are not known.
    pub(super) fn targets_of_any(&self, into: &[TargetSyntax]) -> Result<Vec<Target>, SqlError> {
        if let [TargetSyntax { name, field: None }] = into
            && let Some(known) = self.known(name)
        {
            match &known.holder {
                Holder::Record(None) | Holder::Unclear => {
                    let hint = "Name a variable for each column, or one that is declared with the rows of a table.";
                    return Err(unsupported("a record for the rows of EXECUTE in a function").hint(hint));
                }
                Holder::Row(fields) | Holder::Record(Some(fields)) => {
                    let of_field = |(_, slot): &(String, usize)| self.target_of(*slot, self.types[*slot], None);
                    return Ok(fields.iter().map(of_field).collect());
                }
                Holder::Value(_) => {}
            }
        }
        into.iter().map(|target| self.target(target, self.type_of(target)?.0)).collect()
    }

    /// Gives a record the columns of a query as its fields.
    fn shape(&mut self, at: usize, columns: &[OutputColumn]) {
        if let Holder::Record(Some(fields)) = &self.known[at].holder {
            let known = fields.iter().map(|(name, slot)| (name.as_str(), self.types[*slot]));
            if known.eq(columns.iter().map(|column| (column.name.as_str(), column.ty))) {
                return;
            }
        }
        if !self.is_dynamic && !matches!(self.known[at].holder, Holder::Record(None)) {
            self.reshaped.push(at);
        }
        let named = columns.iter().map(|column| (column.name.clone(), column.ty)).collect();
        let first = self.slots_for(self.known[at].declaration, named);
        let fields = columns.iter().map(|column| column.name.clone()).zip(first..).collect();
        self.known[at].holder = Holder::Record(Some(fields));
    }
}

fn field(fields: &[(String, usize)], name: &str) -> Option<usize> {
    fields.iter().find(|(field, _)| field == name).map(|(_, slot)| *slot)
}

fn not_assigned(record: &str) -> SqlError {
    let message = format!("record \"{record}\" is not assigned yet");
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

/// Returns the error 0A000 for the use of a record that may have rows of different queries at this place.
fn unclear(record: &str) -> SqlError {
    unsupported("a record that may have rows of different queries at one place of a body")
        .hint(format!("Declare another record for one of the queries of \"{record}\"."))
}

fn no_field(record: &str, name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_COLUMN, format!("record \"{record}\" has no field \"{name}\""))
}

fn unknown_variable(name: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"))
        .hint("Say DECLARE and its type where the body begins.")
}

fn check_count(variables: usize, columns: usize) -> Result<(), SqlError> {
    if variables == columns {
        return Ok(());
    }
    let (variables, columns) = (number_of(variables, "variable"), number_of(columns, "column"));
    Err(SqlError::new(state::SYNTAX_ERROR, format!("INTO has {variables} for {columns}")))
}

/// Returns the strictness of the cast with which a value of type `from` is assigned to a variable of type `to`. Any
/// value is read from a text that is assigned, so that cast is explicit.
pub(super) fn strictness(from: Type, to: Type) -> Strictness {
    if from.is_text() && !to.is_text() { Strictness::Explicit } else { Strictness::Assignment }
}

pub(super) fn check_assignable(variable: &str, from: Type, to: Type) -> Result<(), SqlError> {
    if can_cast(from, to, strictness(from, to)) {
        return Ok(());
    }
    let (from, to) = (type_name(Some(from)), type_name(Some(to)));
    let message = format!("variable \"{variable}\" is of type {to} but expression is of type {from}");
    Err(SqlError::new(state::DATATYPE_MISMATCH, message).hint("You will need to rewrite or cast the expression."))
}
