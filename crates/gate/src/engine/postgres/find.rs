//! Finding a table that an owner names, before it is registered.

use sqlparser::ast::{Ident, ObjectNamePart};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use taximeter_postgres::SessionError;
use tokio_postgres::types::Type;

use super::relation::Relation;
use super::session::{ANSWER, ASK, explain, open};
use crate::engine::Table;
use crate::error::Error;
use crate::schema::ColumnType;

/// A table that may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceTable {
    pub(crate) table: Table,
    /// The columns that may be asked about.
    pub(crate) columns: Vec<(String, ColumnType)>,
    /// The others, each with what it is instead.
    pub(crate) left_out: Vec<(String, String)>,
    /// The same for the same table, and for no other: the server's installation, the database, the table.
    pub(crate) fingerprint: String,
}

const FINGERPRINT: &str = "
    SELECT system_identifier::text || '/' || (SELECT oid::text FROM pg_database WHERE datname = current_database()) || '/' || $1::text
    FROM pg_control_system()";

/// Finds a table by its name: `table`, or `schema.table`, each in double quotes if it has capitals or points.
pub(crate) fn find_table(url: &str, name: &str) -> Result<SourceTable, Error> {
    let (schema, name) = parse_name(name)?;
    let mut connection = open(url, ASK, ANSWER)?;
    let found = connection.ask(ANSWER, async |client| {
        let Some(relation) = Relation::find(client, &schema, &name).await? else { return Ok(None) };
        let fingerprint = client.query_typed_one(FINGERPRINT, &[(&relation.table.oid, Type::OID)]).await?;
        Ok::<_, SessionError>(Some((relation, fingerprint.try_get(0)?)))
    });
    let found = found.map_err(|error| explain(connection.address(), &error))?;
    let Some((relation, fingerprint)) = found else {
        let why = format!(
            "there is no table {name:?} in the schema {schema:?}; name it as schema.table, with a part that has capitals in double quotes"
        );
        return Err(Error::input("table", why));
    };
    relation.check_kind().map_err(|why| Error::input("table", why))?;
    let table = relation.table;
    if relation.has_children {
        let why = format!(
            "{table} has tables that inherit from it, whose rows would not be counted; make a materialised view of all of them with CREATE \
             MATERIALIZED VIEW, and register that"
        );
        return Err(Error::input("table", why));
    }
    let (mut columns, mut left_out) = (Vec::new(), Vec::new());
    for column in relation.columns {
        match column.kind() {
            Ok(kind) => columns.push((column.name, kind)),
            Err(why) => left_out.push((column.name, why)),
        }
    }
    if columns.is_empty() {
        let others = left_out.iter().map(|(name, why)| format!("{name} is {why}")).collect::<Vec<_>>().join("; ");
        let why = format!(
            "{table} has no column that questions can use: only numbers, text, booleans, dates and timestamps ({others})"
        );
        return Err(Error::input("table", why));
    }
    Ok(SourceTable { table, columns, left_out, fingerprint })
}

/// The schema and the table of a name, read as PostgreSQL reads it: what is not in quotes is in small letters.
fn parse_name(text: &str) -> Result<(String, String), Error> {
    let wrong = || {
        let why = format!("{text:?} is not the name of a table; write table, schema.table, or \"Schema\".\"Table\"");
        Error::input("table", why)
    };
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).map_err(|_| wrong())?;
    let name = parser.parse_object_name(false).map_err(|_| wrong())?;
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(Ident { value, quote_style: None, .. }) => Some(value.to_ascii_lowercase()),
        ObjectNamePart::Identifier(Ident { value, .. }) if !value.is_empty() => Some(value.clone()),
        _ => None,
    };
    let parts = name.0.iter().map(part).collect::<Option<Vec<String>>>().ok_or_else(wrong)?;
    match (parts.as_slice(), parser.peek_token().token) {
        ([name], Token::EOF) => Ok(("public".to_string(), name.clone())),
        ([schema, name], Token::EOF) => Ok((schema.clone(), name.clone())),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_postgresql_reads_it() {
        for (text, schema, name) in [
            ("orders", "public", "orders"),
            ("Orders", "public", "orders"),
            ("Sales.Orders", "sales", "orders"),
            (r#""Orders""#, "public", "Orders"),
            (r#""Sales".orders"#, "Sales", "orders"),
            (r#"sales."a.b ""c""""#, "sales", r#"a.b "c""#),
            ("größe", "public", "größe"),
        ] {
            assert_eq!(parse_name(text).unwrap(), (schema.to_string(), name.to_string()), "{text}");
        }
        for text in ["", ".", "a.", ".a", "a.b.c", r#"""#, r#""a"#, r#""a"b"#, r#"a"b"#, r#""""#, "a\0"] {
            assert!(parse_name(text).is_err_and(|error| error.is_input()), "{text:?}");
        }
    }
}
