//! The messages of the extended protocol that have several fields: Parse, Bind, Execute.

use super::frontend::{Body, Formats, malformed};
use hotrow_sql::types::{Styles, decode_binary, decode_text, oid::UNKNOWN, utf8};
use hotrow_sql::{SqlError, state};
use hotrow_storage::{Type, Value};

/// The content of a Parse message, which makes a prepared statement.
pub struct Parse<'m> {
    /// The name of the prepared statement, which is empty for the unnamed one.
    pub name: &'m str,
    /// The SQL text of the statement.
    pub text: &'m str,
    /// The types of the first parameters, as far as the client gives them. `None` stands for a type that the server
    /// must infer.
    pub types: Vec<Option<Type>>,
}

impl<'m> Parse<'m> {
    /// Parses the content of a message. `known` returns the type that has an OID, or `None` if there is no such type.
    ///
    /// # Errors
    /// If the content is malformed, or if there is no type with an OID that the message gives for a parameter.
    pub fn read(message: &'m [u8], known: impl Fn(u32) -> Option<Type>) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (name, text) = (body.text()?, body.text()?);
        let count = usize::from(body.u16()?);
        let mut types = Vec::new();
        for position in 1..=count {
            types.push(parameter_type(body.u32()?, position, &known)?);
        }
        body.end()?;
        Ok(Self { name, text, types })
    }
}

/// The content of a Bind message, which makes a portal from a prepared statement and values for its parameters. The
/// values and the formats of the result are parsed later, when the types of the parameters are known.
pub struct Bind<'m> {
    /// The name of the portal to make, which is empty for the unnamed one.
    pub portal: &'m str,
    /// The name of the prepared statement, which is empty for the unnamed one.
    pub name: &'m str,
    formats: Formats<'m>,
    /// The number of values.
    count: usize,
    /// The part of the message that has not been read: the values and, after these, the result's formats.
    rest: Body<'m>,
}

impl<'m> Bind<'m> {
    /// Parses the content of a message up to its values.
    ///
    /// # Errors
    /// If the content is malformed.
    pub fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, name, formats) = (body.text()?, body.text()?, body.formats()?);
        let count = usize::from(body.u16()?);
        Ok(Self { portal, name, formats, count, rest: body })
    }

    /// Checks that the message has one value for each of the statement's parameters, whose types are `types`, and a
    /// valid number of formats for them.
    ///
    /// # Errors
    /// Error 08P01 if it has not.
    pub fn check(&self, types: &[Type]) -> Result<(), SqlError> {
        let (count, formats) = (self.count, self.formats.len());
        if count != types.len() {
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement \"{}\" requires {}",
                self.name,
                types.len()
            );
            return Err(malformed(&message));
        }
        if formats > 1 && formats != count {
            let message = format!("bind message has {formats} parameter formats but {count} parameters");
            return Err(malformed(&message));
        }
        Ok(())
    }

    /// Decodes the values of parameters of these types, and appends them to `values`. The caller has called
    /// [`check`](Self::check).
    ///
    /// # Errors
    /// If a value is invalid for its type, or if the content is malformed.
    pub fn values(&mut self, types: &[Type], styles: Styles, values: &mut Vec<Value<'static>>) -> Result<(), SqlError> {
        for (position, &ty) in types.iter().enumerate() {
            values.push(parameter(ty, self.rest.value()?, self.formats.is_binary(position)?, styles, position)?);
        }
        Ok(())
    }

    /// Parses the formats of the result's columns. The caller has called [`values`](Self::values), because the formats
    /// follow the values.
    ///
    /// # Errors
    /// If the content is malformed, or continues after the formats.
    pub fn result_formats(mut self) -> Result<Formats<'m>, SqlError> {
        let formats = self.rest.formats()?;
        self.rest.end()?;
        Ok(formats)
    }
}

/// The content of an Execute message, which runs a portal.
pub struct Execute<'m> {
    /// The name of the portal, which is empty for the unnamed one.
    pub portal: &'m str,
    /// The greatest number of rows to return; zero or less means all rows.
    pub max_rows: i32,
}

impl<'m> Execute<'m> {
    /// Parses the content of a message.
    ///
    /// # Errors
    /// If the content is malformed.
    pub fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, max_rows) = (body.text()?, body.i32()?);
        body.end()?;
        Ok(Self { portal, max_rows })
    }
}

/// Returns the type with this OID for the parameter at this position, or `None` if the type is to be inferred.
fn parameter_type(oid: u32, position: usize, known: impl Fn(u32) -> Option<Type>) -> Result<Option<Type>, SqlError> {
    if matches!(oid, 0 | UNKNOWN) {
        return Ok(None);
    }
    known(oid).map(Some).ok_or_else(|| {
        let message = format!("parameter ${position}: there is no type with OID {oid}");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    })
}

/// Decodes a parameter's value.
fn parameter(
    ty: Type,
    bytes: Option<&[u8]>,
    binary: bool,
    styles: Styles,
    position: usize,
) -> Result<Value<'static>, SqlError> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let value = match binary {
        true => decode_binary(ty, bytes),
        false => utf8(bytes).and_then(|text| decode_text(ty, text, styles)),
    };
    value.map_err(|error| error.context(format!("parameter ${}", position + 1)))
}
