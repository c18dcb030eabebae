// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include <algorithm>
#include <cstring>

namespace dsmasterd {
namespace {

using ds::store::Term;
using ds::store::wire::Location;

// Of the tables; a later one may be converted, an unknown one is refused.
constexpr uint64_t format = 1;

constexpr char tables[] =
    "CREATE TABLE IF NOT EXISTS store("
    "  name BLOB PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS object("
    "  key BLOB PRIMARY KEY, version INTEGER NOT NULL, length INTEGER NOT NULL,"
    "  shift INTEGER NOT NULL, replicas INTEGER NOT NULL, time INTEGER NOT NULL,"
    "  locations BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS reservation("
    "  version INTEGER PRIMARY KEY, length INTEGER NOT NULL, shift INTEGER NOT NULL,"
    "  replicas INTEGER NOT NULL, time INTEGER NOT NULL, locations BLOB NOT NULL,"
    "  client INTEGER NOT NULL, incarnation INTEGER NOT NULL, request INTEGER NOT NULL,"
    "  key BLOB NOT NULL, must_not_exist INTEGER NOT NULL, overtaken INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX IF NOT EXISTS reservation_request"
    "  ON reservation(client, incarnation, request);"
    "CREATE INDEX IF NOT EXISTS reservation_key ON reservation(key);"
    "CREATE TABLE IF NOT EXISTS retired("
    "  version INTEGER PRIMARY KEY, length INTEGER NOT NULL, shift INTEGER NOT NULL,"
    "  replicas INTEGER NOT NULL, time INTEGER NOT NULL, locations BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS server(number INTEGER PRIMARY KEY, memory INTEGER NOT NULL);";

#define VERSION "version, length, shift, replicas, time, locations"
constexpr int version_columns = 6;

std::string_view blob(const std::vector<Location> &locations) {
    return {reinterpret_cast<const char *>(locations.data()), locations.size() * sizeof(Location)};
}

// The first columns of a row, which are VERSION.
Version version_of(const Statement &row) {
    Version v{
        .version = row.number(0),
        .division = {.length = static_cast<uint64_t>(row.number(1)),
                     .shift = static_cast<unsigned>(row.number(2))},
        .replicas = static_cast<uint32_t>(row.number(3)),
        .time_ns = row.number(4),
        .locations = {},
    };
    std::string_view bytes = row.bytes(5);
    v.locations.resize(bytes.size() / sizeof(Location));
    if (!v.locations.empty())
        std::memcpy(v.locations.data(), bytes.data(), v.locations.size() * sizeof(Location));
    return v;
}

Reservation reservation_of(const Statement &row) {
    return {
        .version = version_of(row),
        .client = {.client = static_cast<uint16_t>(row.number(version_columns)),
                   .incarnation = static_cast<uint16_t>(row.number(version_columns + 1))},
        .request = static_cast<uint64_t>(row.number(version_columns + 2)),
        .key = std::string(row.bytes(version_columns + 3)),
        .must_not_exist = row.number(version_columns + 4) != 0,
        .overtaken = row.number(version_columns + 5) != 0,
    };
}

void each(Database &database, const char *query, const std::function<void(const Version &)> &take) {
    Statement rows(database, query);
    while (rows.step())
        take(version_of(rows));
}

}  // namespace

uint64_t Version::space() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < locations.size(); i++)
        sum += locations[i] == ds::store::nowhere ? 0 : extent(i);
    return sum;
}

Catalogue::Setup::Setup(Database &database) {
    database.run(tables);
}

#define RESERVATION VERSION ", client, incarnation, request, key, must_not_exist, overtaken"

Catalogue::Catalogue(const std::string &path)
    : database_(path),
      setup_(database_),
      find_(database_, "SELECT " VERSION " FROM object WHERE key = ?"),
      set_(database_,
           "INSERT OR REPLACE INTO object(key, " VERSION ") VALUES(?, ?, ?, ?, ?, ?, ?)"),
      remove_(database_, "DELETE FROM object WHERE key = ?"),
      list_(database_,
            "SELECT key, version, length, replicas, time FROM object"
            " WHERE key >= ? ORDER BY key"),
      add_(database_,
           "INSERT INTO reservation(" RESERVATION ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      find_version_(database_, "SELECT " RESERVATION " FROM reservation WHERE version = ?"),
      find_request_(database_, "SELECT " RESERVATION
                               " FROM reservation"
                               " WHERE client = ? AND incarnation = ? AND request = ?"),
      up_to_(database_, "SELECT 1 FROM reservation WHERE version <= ? LIMIT 1"),
      remove_reservation_(database_, "DELETE FROM reservation WHERE version = ?"),
      overtake_(database_, "UPDATE reservation SET overtaken = 1 WHERE key = ?"),
      clients_(database_, "SELECT DISTINCT client, incarnation FROM reservation"),
      of_(database_, "SELECT version FROM reservation WHERE client = ? AND incarnation = ?"),
      retire_(database_, "INSERT OR REPLACE INTO retired(" VERSION ") VALUES(?, ?, ?, ?, ?, ?)"),
      forget_(database_, "DELETE FROM retired WHERE version = ?"),
      memory_(database_, "SELECT memory FROM server WHERE number = ?"),
      set_memory_(database_, "INSERT OR REPLACE INTO server(number, memory) VALUES(?, ?)") {}

// 0: it was never written.
uint64_t Catalogue::number_of(std::string_view name) {
    Statement value(database_, "SELECT value FROM store WHERE name = ?");
    return value.with(name).step() ? static_cast<uint64_t>(value.number(0)) : 0;
}

std::optional<Shape> Catalogue::shape() {
    uint64_t found = number_of("format");
    if (found == 0)
        return std::nullopt;
    if (found != format)
        throw Broken("the metadata have format " + std::to_string(found) +
                     ", which this version does not know");
    return Shape{.store = number_of("store"),
                 .space = static_cast<uint32_t>(number_of("space")),
                 .servers = static_cast<uint32_t>(number_of("servers")),
                 .server_shift = static_cast<uint32_t>(number_of("server_shift"))};
}

void Catalogue::make(const Shape &shape) {
    Statement set(database_, "INSERT INTO store(name, value) VALUES(?, ?)");
    auto put = [&](std::string_view name, uint64_t value) {
        set.with(name, static_cast<int64_t>(value)).run();
    };
    database_.begin();
    put("format", format);
    put("store", shape.store);
    put("space", shape.space);
    put("servers", shape.servers);
    put("server_shift", shape.server_shift);
    put("epoch", 0);
    database_.commit();
}

bool Catalogue::is_empty() {
    Statement any(database_,
                  "SELECT 1 FROM object UNION ALL SELECT 1 FROM reservation UNION ALL"
                  " SELECT 1 FROM retired LIMIT 1");
    return !any.step();
}

uint32_t Catalogue::epoch() {
    return static_cast<uint32_t>(number_of("epoch"));
}

Term Catalogue::term() {
    return Term::of(number_of("term"));
}

Term Catalogue::term_before() {
    return Term::of(number_of("term_before"));
}

void Catalogue::set_term(Term term, Term before) {
    Statement set(database_, "INSERT OR REPLACE INTO store(name, value) VALUES(?, ?)");
    auto put = [&](std::string_view name, uint64_t value) {
        set.with(name, static_cast<int64_t>(value)).run();
    };
    try {
        database_.begin();
        put("epoch", term.epoch);
        put("term", term.word());
        put("term_before", before.word());
        database_.commit();
    } catch (const Full &) {
        database_.rollback();
        throw;
    }
}

// ---- Objects ----

std::optional<Version> Catalogue::find(std::string_view key) {
    if (!find_.with(key).step())
        return std::nullopt;
    Version version = version_of(find_);
    find_.reset();
    return version;
}

void Catalogue::set(std::string_view key, const Version &v) {
    set_.with(key, v.version, static_cast<int64_t>(v.division.length),
              static_cast<int64_t>(v.division.shift), static_cast<int64_t>(v.replicas), v.time_ns,
              blob(v.locations))
        .run();
}

bool Catalogue::remove(std::string_view key) {
    return remove_.with(key).run() > 0;
}

void Catalogue::list(std::string_view prefix, std::string_view after,
                     const std::function<bool(const Listed &)> &take) {
    list_.with(std::max(prefix, after));
    while (list_.step()) {
        std::string_view key = list_.bytes(0);
        if (key == after)
            continue;
        if (!key.starts_with(prefix))
            break;
        if (!take({.key = std::string(key),
                   .version = list_.number(1),
                   .length = static_cast<uint64_t>(list_.number(2)),
                   .replicas = static_cast<uint32_t>(list_.number(3)),
                   .time_ns = list_.number(4)}))
            break;
    }
    list_.reset();
}

// ---- Reservations ----

void Catalogue::add(const Reservation &r) {
    const Version &v = r.version;
    add_.with(v.version, static_cast<int64_t>(v.division.length),
              static_cast<int64_t>(v.division.shift), static_cast<int64_t>(v.replicas), v.time_ns,
              blob(v.locations), int64_t{r.client.client}, int64_t{r.client.incarnation},
              static_cast<int64_t>(r.request), std::string_view(r.key), int64_t{r.must_not_exist},
              int64_t{r.overtaken})
        .run();
}

std::optional<Reservation> Catalogue::find_reservation(int64_t version) {
    if (!find_version_.with(version).step())
        return std::nullopt;
    Reservation reservation = reservation_of(find_version_);
    find_version_.reset();
    return reservation;
}

std::optional<Reservation> Catalogue::find_reservation(Client client, uint64_t request) {
    if (!find_request_
             .with(int64_t{client.client}, int64_t{client.incarnation},
                   static_cast<int64_t>(request))
             .step())
        return std::nullopt;
    Reservation reservation = reservation_of(find_request_);
    find_request_.reset();
    return reservation;
}

bool Catalogue::has_reservation_up_to(int64_t version) {
    bool has = up_to_.with(version).step();
    up_to_.reset();
    return has;
}

void Catalogue::remove_reservation(int64_t version) {
    remove_reservation_.with(version).run();
}

void Catalogue::overtake(std::string_view key) {
    overtake_.with(key).run();
}

std::vector<Client> Catalogue::clients() {
    std::vector<Client> found;
    clients_.reset();
    while (clients_.step())
        found.push_back({.client = static_cast<uint16_t>(clients_.number(0)),
                         .incarnation = static_cast<uint16_t>(clients_.number(1))});
    return found;
}

std::vector<int64_t> Catalogue::reservations_of(Client client) {
    std::vector<int64_t> found;
    of_.with(int64_t{client.client}, int64_t{client.incarnation});
    while (of_.step())
        found.push_back(of_.number(0));
    return found;
}

// ---- Versions that are gone ----

void Catalogue::retire(const Version &v) {
    retire_
        .with(v.version, static_cast<int64_t>(v.division.length),
              static_cast<int64_t>(v.division.shift), static_cast<int64_t>(v.replicas), v.time_ns,
              blob(v.locations))
        .run();
}

void Catalogue::forget(int64_t version) {
    forget_.with(version).run();
}

// ---- Servers ----

uint64_t Catalogue::memory_of(uint32_t server) {
    int64_t memory = memory_.with(int64_t{server}).step() ? memory_.number(0) : 0;
    memory_.reset();
    return static_cast<uint64_t>(memory);
}

void Catalogue::set_memory(uint32_t server, uint64_t memory) {
    set_memory_.with(int64_t{server}, static_cast<int64_t>(memory)).run();
}

// ---- All of a kind ----

void Catalogue::each_object(
    const std::function<void(std::string_view key, const Version &)> &take) {
    Statement rows(database_, "SELECT " VERSION ", key FROM object");
    while (rows.step())
        take(rows.bytes(version_columns), version_of(rows));
}

void Catalogue::each_reservation(const std::function<void(const Version &)> &take) {
    each(database_, "SELECT " VERSION " FROM reservation", take);
}

void Catalogue::each_retired(const std::function<void(const Version &)> &take) {
    each(database_, "SELECT " VERSION " FROM retired", take);
}

}  // namespace dsmasterd
