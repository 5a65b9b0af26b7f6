//! What the catalog says about a table: whether it may be asked, and what its columns hold. No row is looked at.

use taximeter_postgres::SessionError;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

use crate::engine::Table;
use crate::schema::ColumnType;

/// What a name stands for.
pub(super) struct Relation {
    pub(super) table: Table,
    kind: String,
    temporary: bool,
    row_security: bool,
    populated: bool,
    /// Whether the user may use the schema at all.
    open: bool,
    /// Whether other tables inherit from it. Their rows are not counted.
    pub(super) has_children: bool,
    pub(super) columns: Vec<StoredColumn>,
}

/// A column as it is stored.
pub(super) struct StoredColumn {
    pub(super) name: String,
    oid: u32,
    /// The type in PostgreSQL's words.
    type_name: String,
    computed: bool,
    readable: bool,
}

const BY_NAME: &str = "
    SELECT class.oid, class.relkind::text, class.relpersistence = 't', class.relrowsecurity, class.relispopulated,
           has_schema_privilege(namespace.oid, 'USAGE'),
           EXISTS (SELECT FROM pg_inherits WHERE inhparent = class.oid)
    FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
    WHERE namespace.nspname = $1 AND class.relname = $2";

/// A column that is computed when it is read may fail on a row.
const COLUMNS: &str = "
    SELECT attname, atttypid, format_type(atttypid, atttypmod), attgenerated NOT IN ('', 's'),
           has_column_privilege(attrelid, attnum, 'SELECT')
    FROM pg_attribute
    WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
    ORDER BY attnum";

/// The types that are understood. Comparing their values with each other never fails; others are left out.
static TYPES: [(Type, ColumnType); 12] = [
    (Type::INT2, ColumnType::Integer),
    (Type::INT4, ColumnType::Integer),
    (Type::INT8, ColumnType::Integer),
    (Type::FLOAT4, ColumnType::Real),
    (Type::FLOAT8, ColumnType::Real),
    (Type::TEXT, ColumnType::Text),
    (Type::VARCHAR, ColumnType::Text),
    (Type::BOOL, ColumnType::Boolean),
    (Type::DATE, ColumnType::Date),
    (Type::TIMESTAMP, ColumnType::Timestamp),
    (Type::TIMESTAMPTZ, ColumnType::Timestamp),
    (Type::NUMERIC, ColumnType::Decimal),
];

impl Relation {
    /// Looks a name up; nothing if no table has it.
    pub(super) async fn find(
        client: &impl GenericClient,
        schema: &str,
        name: &str,
    ) -> Result<Option<Relation>, SessionError> {
        let named = client.query_typed_opt(BY_NAME, &[(&schema, Type::TEXT), (&name, Type::TEXT)]).await?;
        let Some(row) = named else { return Ok(None) };
        let oid: u32 = row.try_get(0)?;
        let column = |row: &tokio_postgres::Row| -> Result<StoredColumn, SessionError> {
            Ok(StoredColumn {
                name: row.try_get(0)?,
                oid: row.try_get(1)?,
                type_name: row.try_get(2)?,
                computed: row.try_get(3)?,
                readable: row.try_get(4)?,
            })
        };
        let columns = client.query_typed(COLUMNS, &[(&oid, Type::OID)]).await?;
        Ok(Some(Relation {
            table: Table { schema: schema.to_string(), name: name.to_string(), oid },
            kind: row.try_get(1)?,
            temporary: row.try_get(2)?,
            row_security: row.try_get(3)?,
            populated: row.try_get(4)?,
            open: row.try_get(5)?,
            has_children: row.try_get(6)?,
            columns: columns.iter().map(column).collect::<Result<_, _>>()?,
        }))
    }

    /// Keeps a table as it is until the transaction ends, and checks it.
    ///
    /// Preparing a statement locks the table that it names; nothing is executed. The catalog is looked at afterwards, by a statement
    /// that sees what was committed before the lock was had: what it says stays so.
    pub(super) async fn lock(
        transaction: &Transaction<'_>,
        table: &Table,
        columns: &[(String, ColumnType)],
    ) -> Result<Relation, SessionError> {
        transaction.prepare(&format!("SELECT FROM ONLY {}", table.quoted())).await?;
        let found = Relation::find(transaction, &table.schema, &table.name).await?;
        Relation::check(found, table, columns).map_err(SessionError::Failed)
    }

    /// Whether it is still the table that was registered, with these columns.
    pub(super) fn check(
        found: Option<Relation>,
        table: &Table,
        columns: &[(String, ColumnType)],
    ) -> Result<Relation, String> {
        let Some(relation) = found else {
            return Err(format!("the table {table} is not there any more; register the data again"));
        };
        relation.check_kind()?;
        if relation.table.oid != table.oid {
            return Err(format!("{table} is another table than the one that was registered; register the data again"));
        }
        for (name, kind) in columns {
            let why = match relation.columns.iter().find(|column| column.name == *name).map(StoredColumn::kind) {
                Some(Ok(held)) if held == *kind => continue,
                Some(Ok(held)) => format!("holds {held} now, not {kind}"),
                Some(Err(why)) => format!("is {why} now"),
                None => "is not there any more".to_string(),
            };
            return Err(format!("the column {name:?} of {table} {why}; register the data again"));
        }
        Ok(relation)
    }

    /// Whether such a table may be asked at all.
    pub(super) fn check_kind(&self) -> Result<(), String> {
        let copy = "make a materialised view of it with CREATE MATERIALIZED VIEW, and register that";
        let why = match self.kind.as_str() {
            "r" | "m" if self.temporary => {
                "is a temporary table, which no other connection can read; copy it into a plain one".to_string()
            }
            "r" | "m" if self.row_security => {
                "has row-level security, whose conditions may fail on a row; register a copy of it".to_string()
            }
            "m" if !self.populated => {
                "is a materialised view without data; fill it with REFRESH MATERIALIZED VIEW".to_string()
            }
            "r" | "m" if !self.open => "is in a schema that this user may not use; GRANT USAGE on it".to_string(),
            "r" | "m" => return Ok(()),
            "v" => format!("is a view, whose expressions may fail on a row; {copy}"),
            "f" => format!("is a foreign table, whose server may fail on a row; {copy}"),
            "p" => format!("is a partitioned table, whose partitions may be anywhere; {copy}"),
            "i" | "I" => "is an index; name its table".to_string(),
            "S" => "is a sequence; name a table".to_string(),
            other => format!("is not a table (its relkind is {other}); name a table"),
        };
        Err(format!("{} {why}", self.table))
    }

    /// The type that a column is stored with.
    pub(super) fn stored_type(&self, name: &str) -> Option<&'static Type> {
        self.columns.iter().find(|column| column.name == name)?.known().map(|(stored, _)| stored)
    }
}

impl StoredColumn {
    /// What it holds, or why it cannot be asked about.
    pub(super) fn kind(&self) -> Result<ColumnType, String> {
        match self.known() {
            Some((_, kind)) if !self.computed && self.readable => Ok(*kind),
            Some(_) if self.computed => Err(format!("{}, computed when it is read", self.type_name)),
            Some(_) => Err(format!("{}, which this user may not read", self.type_name)),
            None => Err(self.type_name.clone()),
        }
    }

    fn known(&self) -> Option<&'static (Type, ColumnType)> {
        TYPES.iter().find(|(stored, _)| stored.oid() == self.oid)
    }
}
