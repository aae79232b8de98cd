//! The results of statements, collected in memory.

use hotrow_sql::{Client, Notice, OutputColumn, SqlError};
use hotrow_storage::Value;

/// The result of the last statement that a session has executed, collected in memory. A program that embeds the
/// database passes it to a session as its [`Client`].
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: Vec<OutputColumn>,
    rows: Vec<Vec<Value<'static>>>,
    tag: String,
    notices: Vec<Notice>,
    is_complete: bool,
}

impl Rows {
    /// Returns the columns of the last result.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// Returns the rows of the last result. Each holds a value for each column.
    pub fn rows(&self) -> &[Vec<Value<'static>>] {
        &self.rows
    }

    /// Returns the command tag of the last statement, such as `INSERT 0 1`.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns all notices that the session has sent so far, for any statement.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Discards the last result if it is complete, because the next part belongs to another result.
    fn begin_result(&mut self) {
        if self.is_complete {
            self.columns.clear();
            self.rows.clear();
            self.tag.clear();
            self.is_complete = false;
        }
    }
}

impl Client for Rows {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.begin_result();
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.begin_result();
        self.rows.push(values.iter().map(|value| value.borrowed().into_owned()).collect());
        Ok(())
    }

    fn complete(&mut self, tag: &str) -> Result<(), SqlError> {
        self.begin_result();
        tag.clone_into(&mut self.tag);
        self.is_complete = true;
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        self.begin_result();
        self.is_complete = true;
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn parameter(&mut self, _name: &str, _value: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::Type;

    #[test]
    fn each_result_replaces_the_one_before() {
        let mut rows = Rows::default();
        let column = OutputColumn::new("n", Type::Int4);
        for number in 1..=2 {
            Client::columns(&mut rows, std::slice::from_ref(&column)).expect("nothing can fail");
            rows.row(&[Value::Int4(number)]).expect("nothing can fail");
            rows.complete("SELECT 1").expect("nothing can fail");
            assert_eq!(rows.rows(), [[Value::Int4(number)]]);
            assert_eq!((rows.columns().len(), rows.tag()), (1, "SELECT 1"));
        }
        rows.complete("BEGIN").expect("nothing can fail");
        assert_eq!((rows.rows().len(), rows.columns().len(), rows.tag()), (0, 0, "BEGIN"));
    }
}
