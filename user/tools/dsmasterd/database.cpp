// SPDX-License-Identifier: Apache-2.0
#include "database.hpp"

#include <fcntl.h>

#include "fabric/fd.hpp"

namespace dsmasterd {

Database::Database(const std::string &path) : db_(nullptr, sqlite3_close) {
    // SQLite makes files that all may read; a log is as the file that it belongs to.
    ds::fabric::Fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    sqlite3 *db = nullptr;
    int rc =
        sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(db);
    if (rc != SQLITE_OK)
        throw Broken(db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    sqlite3_extended_result_codes(db, 1);
    // The master is alone with it; so the log needs no shared memory.
    run("PRAGMA locking_mode = EXCLUSIVE");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
}

void Database::check(int rc) const {
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return;
    std::string text = sqlite3_errmsg(db_.get());
    // A limit of the process (RLIMIT_FSIZE) is met in write(2), as an error of it.
    if ((rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_WRITE)
        throw Full(text);
    throw Broken(text);
}

void Database::run(const char *sql) {
    check(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr));
}

// SQLite has done it by itself after some errors.
void Database::rollback() noexcept {
    if (!sqlite3_get_autocommit(db_.get()))
        sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Statement::Statement(Database &database, const char *sql)
    : database_(database), statement_(nullptr, sqlite3_finalize) {
    sqlite3_stmt *statement = nullptr;
    int rc =
        sqlite3_prepare_v3(database.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    statement_.reset(statement);
    database.check(rc);
}

bool Statement::step() {
    int rc = sqlite3_step(statement_.get());
    if (rc == SQLITE_ROW)
        return true;
    sqlite3_reset(statement_.get());
    database_.check(rc);
    return false;
}

int Statement::run() {
    while (step()) {
    }
    return sqlite3_changes(database_.get());
}

int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
    auto *data = static_cast<const char *>(sqlite3_column_blob(statement_.get(), column));
    return {data, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Statement::reset() {
    sqlite3_reset(statement_.get());
    next_ = 1;
}

void Statement::bind(int64_t value) {
    database_.check(sqlite3_bind_int64(statement_.get(), next_++, value));
}

void Statement::bind(std::string_view value) {
    // An empty blob, not NULL.
    const char *data = value.data() ? value.data() : "";
    database_.check(
        sqlite3_bind_blob64(statement_.get(), next_++, data, value.size(), SQLITE_TRANSIENT));
}

}  // namespace dsmasterd
