// SPDX-License-Identifier: Apache-2.0
// SQLite, as far as the master needs it.
//
// An error that a later attempt may not meet, which is a full disk, is a Full;
// after any other the state of the file is not known, and the master ends.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dsmasterd {

/// The store's folder takes no more.
struct Full : std::runtime_error {
    using runtime_error::runtime_error;
};

/// The file cannot be used.
struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
};

class Database {
public:
    /// Opens or makes the file. What is committed is on the disk.
    explicit Database(const std::string &path);

    void run(const char *sql);

    /// What changes between begin() and commit() does so at once, or not at all.
    void begin() { run("BEGIN"); }
    void commit() { run("COMMIT"); }
    void rollback() noexcept;

    sqlite3 *get() const { return db_.get(); }

    /// Throws for a result that is an error.
    void check(int rc) const;

private:
    std::unique_ptr<sqlite3, int (*)(sqlite3 *)> db_;
};

/// One prepared statement, to be run again and again.
class Statement {
public:
    Statement(Database &database, const char *sql);

    /// Values for its question marks, in their order.
    template <class... Values>
    Statement &with(const Values &...values) {
        reset();
        (bind(values), ...);
        return *this;
    }

    /// The next row, if there is one.
    bool step();

    /// Runs it to its end. Rows that it changed.
    int run();

    int64_t number(int column) const;
    std::string_view bytes(int column) const;  ///< valid until the next step()

    /// Ends a query early.
    void reset();

private:
    void bind(int64_t value);
    void bind(std::string_view value);

    Database &database_;
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt *)> statement_;
    int next_ = 1;
};

}  // namespace dsmasterd
