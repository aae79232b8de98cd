//! The messages of the extended protocol that have several fields: Parse, Bind, Execute.

use super::frontend::{Body, Formats, malformed};
use hotrow_sql::types::{Styles, decode_binary, decode_text, from_oid, oid::UNKNOWN, utf8};
use hotrow_sql::{SqlError, state};
use hotrow_storage::{Type, Value};

/// A Parse message.
pub struct Parse<'m> {
    /// The name of the statement; empty for the unnamed one.
    pub name: &'m str,
    /// The statement's text.
    pub text: &'m str,
    /// The parameter types that the client has given; `None` for a type to be inferred.
    pub types: Vec<Option<Type>>,
}

impl<'m> Parse<'m> {
    /// Reads the content of a message.
    ///
    /// # Errors
    /// A content that is not of this form, or an unknown type.
    pub fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (name, text) = (body.text()?, body.text()?);
        let count = usize::from(body.u16()?);
        let mut types = Vec::new();
        for position in 1..=count {
            types.push(parameter_type(body.u32()?, position)?);
        }
        body.end()?;
        Ok(Self { name, text, types })
    }
}

/// A Bind message, read up to its values.
pub struct Bind<'m> {
    /// The name of the portal to make; empty for the unnamed one.
    pub portal: &'m str,
    /// The name of the statement.
    pub name: &'m str,
    formats: Formats<'m>,
    /// The number of values.
    count: usize,
    /// The part of the message that has not been read: the values and, after these, the result's formats.
    rest: Body<'m>,
}

impl<'m> Bind<'m> {
    /// Reads the content of a message up to its values.
    ///
    /// # Errors
    /// A content that is not of this form.
    pub fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, name, formats) = (body.text()?, body.text()?, body.formats()?);
        let count = usize::from(body.u16()?);
        Ok(Self { portal, name, formats, count, rest: body })
    }

    /// Checks that there are as many values as a statement has parameters, whose types are `types`.
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

    /// Reads the values, which [`check`](Self::check) has found to be as many as `types`.
    ///
    /// # Errors
    /// A value that its type does not accept, or a content that is not of the message's form.
    pub fn values(&mut self, types: &[Type], styles: Styles, values: &mut Vec<Value<'static>>) -> Result<(), SqlError> {
        for (position, &ty) in types.iter().enumerate() {
            values.push(parameter(ty, self.rest.value()?, self.formats.is_binary(position)?, styles, position)?);
        }
        Ok(())
    }

    /// Reads the result's formats, which follow the values and end the message.
    ///
    /// # Errors
    /// A content that is not of the message's form.
    pub fn result_formats(mut self) -> Result<Formats<'m>, SqlError> {
        let formats = self.rest.formats()?;
        self.rest.end()?;
        Ok(formats)
    }
}

/// An Execute message.
pub struct Execute<'m> {
    /// The name of the portal to run; empty for the unnamed one.
    pub portal: &'m str,
    /// The most rows to return. 0 or less is no limit.
    pub max_rows: i32,
}

impl<'m> Execute<'m> {
    /// Reads the content of a message.
    ///
    /// # Errors
    /// A content that is not of this form.
    pub fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, max_rows) = (body.text()?, body.i32()?);
        body.end()?;
        Ok(Self { portal, max_rows })
    }
}

/// Returns the type with this OID for the parameter at this position, or `None` if the type is to be inferred.
fn parameter_type(oid: u32, position: usize) -> Result<Option<Type>, SqlError> {
    if matches!(oid, 0 | UNKNOWN) {
        return Ok(None);
    }
    from_oid(oid, -1).map(Some).ok_or_else(|| {
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
