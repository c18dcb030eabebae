// SPDX-License-Identifier: Apache-2.0
// The metadata of a store, in SQLite: what is a fact for the master is here, and
// nowhere else.
//
//     object       the newest version of each key
//     reservation  versions that a client may be writing
//     retired      versions that are gone, whose seals are not yet cleared
//     server       which memory was there when all that it should hold was looked at
//
// Each of the first three has its space; nothing else has any. The extent of a
// shard that is made anew is a reservation of the master's, as if it were an object;
// the one that it replaces is retired in the same way.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "database.hpp"
#include "store/label.hpp"
#include "store/shard.hpp"

namespace dsmasterd {

/// What a store is for, written once.
struct Shape {
    uint64_t store;  ///< its number
    uint32_t space;
    uint32_t servers;
    uint32_t server_shift;
};

/// A version and its space.
struct Version {
    int64_t version;
    ds::store::Division division;
    uint32_t replicas;
    int64_t time_ns;
    std::vector<ds::store::wire::Location> locations;

    /// Bytes of the extent at a location.
    uint64_t extent(size_t index) const { return division.extent(index / replicas); }
    /// Bytes of all of them.
    uint64_t space() const;
};

/// Who may write a reservation.
struct Client {
    uint16_t client;
    uint16_t incarnation;
    auto operator<=>(const Client &) const = default;
};

struct Reservation {
    Version version;
    Client client;
    uint64_t request;
    std::string key;
    bool must_not_exist;
    bool overtaken;  ///< a later version has been there and is gone
};

class Catalogue {
public:
    /// Opens the file, and makes the tables if it is new.
    explicit Catalogue(const std::string &path);

    Database &database() { return database_; }

    /// Nothing if the store was not made to its end.
    std::optional<Shape> shape();
    void make(const Shape &shape);

    /// Nothing has any space.
    bool is_empty();

    /// The epoch that was begun last; 0: none was.
    uint32_t epoch();
    /// What the space should say of who has it, and what it said before.
    ds::store::Term term();
    ds::store::Term term_before();
    void set_term(ds::store::Term term, ds::store::Term before);

    // Objects.
    std::optional<Version> find(std::string_view key);
    void set(std::string_view key, const Version &version);
    bool remove(std::string_view key);
    struct Listed {
        std::string key;
        int64_t version;
        uint64_t length;
        uint32_t replicas;
        int64_t time_ns;
    };
    /// In the order of the bytes of keys, from the one behind @p after. Ends when
    /// @p take returns false.
    void list(std::string_view prefix, std::string_view after,
              const std::function<bool(const Listed &)> &take);

    // Reservations.
    void add(const Reservation &reservation);
    std::optional<Reservation> find_reservation(int64_t version);
    std::optional<Reservation> find_reservation(Client client, uint64_t request);
    bool has_reservation_up_to(int64_t version);
    void remove_reservation(int64_t version);
    void overtake(std::string_view key);
    std::vector<Client> clients();
    std::vector<int64_t> reservations_of(Client client);

    // Versions that are gone.
    void retire(const Version &version);  ///< or what is left of one
    void forget(int64_t version);

    // Servers.
    uint64_t memory_of(uint32_t server);  ///< 0: not known
    void set_memory(uint32_t server, uint64_t memory);

    // All of a kind.
    void each_object(const std::function<void(std::string_view key, const Version &)> &take);
    void each_reservation(const std::function<void(const Version &)> &take);
    void each_retired(const std::function<void(const Version &)> &take);

private:
    struct Setup {
        explicit Setup(Database &database);
    };

    uint64_t number_of(std::string_view name);

    Database database_;
    Setup setup_;
    Statement find_, set_, remove_, list_;
    Statement add_, find_version_, find_request_, up_to_, remove_reservation_, overtake_, clients_,
        of_;
    Statement retire_, forget_, memory_, set_memory_;
};

}  // namespace dsmasterd
