//! Reading an audit, while somebody may be writing it.

use rusqlite::types::{FromSql, Value as SqlValue};

use super::schema;
use crate::prelude::*;

/// How many rows are read at a time.
const PAGE_ROWS: usize = 500;
/// About how many bytes are read at a time.
const PAGE_BYTES: usize = 4 << 20;

/// What stands for the columns that a file of the first version has not.
const BEFORE_SECOND: [(&str, &str); 2] = [
    ("protocol_version", "NULL AS protocol_version"),
    ("headers_cut", "0 AS headers_cut"),
];

/// The most names that are read of a column.
const NAMES_MAX: usize = 1_000;

/// Reads the rows of an audit. The one who writes is not held up.
///
/// ```
/// use mcprove_lab::audit::{AuditReader, AuditRow, AuditStore, Filter};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("audit.db");
/// let store = AuditStore::open(&path).unwrap();
/// for (tool, success) in [("echo", true), ("error", false)] {
///     store.record(AuditRow { tool_name: Some(tool.into()), success, ..AuditRow::default() });
/// }
/// store.close().unwrap();
///
/// let failed = Filter { success: Some(false), ..Filter::default() };
/// let rows: Vec<AuditRow> = AuditReader::open(&path)
///     .unwrap()
///     .rows(failed)
///     .collect::<Result<_, _>>()
///     .unwrap();
/// assert_eq!(rows[0].tool_name.as_deref(), Some("error"));
/// ```
#[derive(Debug)]
pub struct AuditReader {
    connection: Connection,
    place: AuditPlace,
    /// How rows are read, up to the conditions.
    select: String,
}

impl AuditReader {
    /// Opens a file to read it.
    pub fn open(path: impl AsRef<Path>) -> AuditResult<Self> {
        Self::connect(AuditPlace::File(path.as_ref().to_owned()))
    }

    pub fn connect(place: AuditPlace) -> AuditResult<Self> {
        let connection = place.connect_to_read()?;
        let checked = |connection: Connection| {
            let version = schema::check(&connection, place.path())?;
            Ok((connection, version))
        };
        let opened = checked(connection).or_else(|error| {
            let is_other = matches!(error, AuditError::ReadOnly(_) | AuditError::Other { .. });
            let at_rest = place.connect_at_rest().filter(|_| is_other);
            at_rest
                .and_then(|at_rest| checked(at_rest).ok())
                .ok_or(error)
        });
        let (connection, version) = opened?;
        let column = |name| {
            BEFORE_SECOND
                .iter()
                .find(|(missing, _)| *missing == name)
                .filter(|_| version < schema::VERSION)
                .map_or(name, |(_, instead)| *instead)
        };
        let columns = COLUMNS.map(column).join(", ");
        Ok(Self {
            connection,
            place,
            select: format!("SELECT {columns} FROM requests"),
        })
    }

    /// The rows that a filter wants. They are read as they are asked for, a page at a time: rows
    /// that are written meanwhile may come too.
    pub fn rows(&self, filter: Filter) -> Rows<'_> {
        Rows {
            reader: self,
            left: filter.limit.unwrap_or(u64::MAX),
            position: None,
            bounds: None,
            page: VecDeque::new(),
            is_over: false,
            filter,
        }
    }

    /// One row.
    pub fn row(&self, id: i64) -> AuditResult<AuditRow> {
        let query = format!("{} WHERE id = ?1", self.select);
        self.connection
            .query_row(&query, [id], AuditRow::read)
            .map_err(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => AuditError::NoRow {
                    path: self.place.path().to_owned(),
                    id,
                },
                error => self.place.describe(&error),
            })
    }

    /// The id of the latest row; 0 where there is none.
    pub fn last_id(&self) -> AuditResult<i64> {
        self.one("SELECT ifnull(max(id), 0) FROM requests", None)
    }

    /// The names that stand in one of the [`COLUMNS`], each once, and at most 1,000 of them.
    pub fn names(&self, column: &'static str) -> AuditResult<Vec<String>> {
        let query = format!(
            "SELECT DISTINCT {column} FROM requests WHERE {column} IS NOT NULL LIMIT {NAMES_MAX}"
        );
        let names = || {
            let mut statement = self.connection.prepare(&query)?;
            statement
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()
        };
        names().map_err(|error| self.place.describe(&error))
    }

    /// What tells this audit from another one that takes its place under the same name.
    pub fn origin(&self) -> AuditResult<String> {
        self.one("SELECT created FROM origin", None)
    }

    fn one<T: FromSql>(&self, query: &str, value: Option<String>) -> AuditResult<T> {
        self.connection
            .query_row(query, params_from_iter(value), |row| row.get(0))
            .map_err(|error| self.place.describe(&error))
    }

    /// Between which ids the rows of a filter are. Rows are numbered in the order in which requests
    /// ended, so those of a time are not one after the other, but close.
    fn bounds(&self, filter: &Filter) -> AuditResult<(i64, i64)> {
        let id = |which: &str, time: Option<SystemTime>, all: i64, none: i64| match time {
            None => Ok::<_, AuditError>(all),
            Some(time) => {
                let query = format!("SELECT {which} ?1");
                let id: Option<i64> = self.one(&query, Some(format_time(time)))?;
                Ok(id.unwrap_or(none))
            }
        };
        let (min, max) = (i64::MIN, i64::MAX);
        let first = id("min(id) FROM requests WHERE ts >=", filter.since, min, max)?;
        let last = id("max(id) FROM requests WHERE ts <=", filter.until, max, min)?;
        let after = filter.after.map_or(min, |id| id.saturating_add(1));
        Ok((first.max(after), last))
    }
}

/// Rows of an audit, as they are read.
#[derive(Debug)]
pub struct Rows<'a> {
    reader: &'a AuditReader,
    filter: Filter,
    left: u64,
    /// The last row that was read, whether it was wanted or not.
    position: Option<i64>,
    bounds: Option<(i64, i64)>,
    page: VecDeque<AuditRow>,
    is_over: bool,
}

impl Iterator for Rows<'_> {
    type Item = AuditResult<AuditRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        while self.page.is_empty() && !self.is_over {
            if let Err(error) = self.read_page() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
        self.left -= 1;
        self.page.pop_front().map(Ok)
    }
}

impl Rows<'_> {
    fn read_page(&mut self) -> AuditResult<()> {
        let (first, last) = match self.bounds {
            Some(bounds) => bounds,
            None => *self.bounds.insert(self.reader.bounds(&self.filter)?),
        };
        let (first, last) = match (self.position, self.filter.order) {
            (None, _) => (first, last),
            (Some(position), Order::NewestFirst) => (first, position.saturating_sub(1)),
            (Some(position), Order::OldestFirst) => (position.saturating_add(1), last),
        };
        if first > last {
            self.is_over = true;
            return Ok(());
        }
        let described = |error: rusqlite::Error| self.reader.place.describe(&error);
        let (query, values) = self.query(first, last);
        let mut statement = self.reader.connection.prepare(&query).map_err(described)?;
        let mut rows = statement
            .query(params_from_iter(&values))
            .map_err(described)?;
        let (mut count, mut bytes) = (0, 0);
        while count < PAGE_ROWS && bytes < PAGE_BYTES {
            let Some(row) = rows.next().map_err(described)? else {
                self.is_over = true;
                break;
            };
            let row = AuditRow::read(row).map_err(described)?;
            count += 1;
            bytes += row.bytes();
            self.position = Some(row.id);
            if self.filter.accepts_arguments(&row) {
                self.page.push_back(row);
            }
        }
        Ok(())
    }

    /// The query for the rows between two ids, and its values.
    fn query(&self, first: i64, last: i64) -> (String, Vec<SqlValue>) {
        let filter = &self.filter;
        let mut query = format!("{} WHERE id BETWEEN ? AND ?", self.reader.select);
        let mut values = vec![SqlValue::Integer(first), SqlValue::Integer(last)];
        // The plus keeps SQLite from the index of times, whose rows it would have to sort.
        let conditions = [
            (" AND +ts >= ?", filter.since.map(format_time)),
            (" AND +ts <= ?", filter.until.map(format_time)),
            (" AND tool_name = ?", filter.tool.clone()),
            (" AND error_category = ?", filter.category.clone()),
            (" AND session_id = ?", filter.session.clone()),
            (" AND method = ?", filter.method.clone()),
        ];
        for (condition, value) in conditions {
            query.extend(value.as_ref().map(|_| condition));
            values.extend(value.map(SqlValue::Text));
        }
        // As words, not values: the index of what failed is chosen by them.
        query.push_str(match filter.success {
            Some(true) => " AND success = 1",
            Some(false) => " AND success = 0",
            None => "",
        });
        query.push_str(match filter.order {
            Order::NewestFirst => " ORDER BY id DESC LIMIT ",
            Order::OldestFirst => " ORDER BY id LIMIT ",
        });
        query.push_str(&PAGE_ROWS.to_string());
        (query, values)
    }
}
