/* A library with drivers of ADBC that go wrong: every entry point in its own way. DUCKDB is the path of DuckDB's library, and ABORT_FILE
   that of a file. */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_IMPLEMENTED = 2, INTERNAL = 9 };

/* The place of StatementSetSqlQuery among the pointers of a driver, since ADBC 1.0. */
enum { SET_SQL_QUERY = 27 };

typedef int (*entry_point)(int version, void *driver, void *error);
typedef int (*query_setter)(void *statement, const char *sql, void *error);

int aborts(int version, void *driver, void *error) { abort(); }

int reads_nowhere(int version, void *driver, void *error) { return *(volatile int *)8; }

int knows_another_version(int version, void *driver, void *error) { return NOT_IMPLEMENTED; }

static query_setter of_duckdb;

static int aborts_at_a_sum(void *statement, const char *sql, void *error) {
  if (strstr(sql, "sum(") && access(ABORT_FILE, F_OK) == 0) abort();
  return of_duckdb(statement, sql, error);
}

static int runs_nothing(void *statement, const char *sql, void *error) { return INTERNAL; }

/* DuckDB, but for one function. */
static int duckdb_with(query_setter setter, int version, void **driver, void *error) {
  void *library = dlopen(DUCKDB, RTLD_NOW | RTLD_LOCAL);
  entry_point init = library ? (entry_point)dlsym(library, "duckdb_adbc_init") : NULL;
  int status = init ? init(version, driver, error) : INTERNAL;
  if (status == 0) {
    of_duckdb = (query_setter)driver[SET_SQL_QUERY];
    driver[SET_SQL_QUERY] = (void *)setter;
  }
  return status;
}

int aborts_later(int version, void **driver, void *error) { return duckdb_with(aborts_at_a_sum, version, driver, error); }

int fails_later(int version, void **driver, void *error) { return duckdb_with(runs_nothing, version, driver, error); }
