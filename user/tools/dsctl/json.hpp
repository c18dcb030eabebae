// SPDX-License-Identifier: Apache-2.0
// JSON values to be printed. Members keep the order in which they are added.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dsctl {

class Json {
public:
    struct Member;
    using Array = std::vector<Json>;
    using Object = std::vector<Member>;

    Json(std::nullptr_t = nullptr);
    template <std::same_as<bool> T>
    Json(T value);
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) Json(T value);
    template <std::signed_integral T>
    Json(T value);
    Json(double value);
    Json(std::string value);
    Json(std::string_view value);
    Json(const char *value);
    Json(Array value);
    // An object: {{"name", value}, ...}
    Json(std::initializer_list<Member> members);

    // Not inline: the variant's code is large, and it need be there only once.
    Json(const Json &);
    Json(Json &&) noexcept;
    Json &operator=(const Json &);
    Json &operator=(Json &&) noexcept;
    ~Json();

    static Json array();
    static Json object();

    /// The member of this name of an object, null if it is new.
    Json &operator[](std::string_view name);

    /// The members of an object, in order; of other values none.
    const Object &members() const;

    /// Adds an element to an array.
    void push_back(Json element);

    /// Adds the members of another object; those that are there are replaced.
    void update(const Json &other);

    /// True for an array or an object without anything in it.
    bool empty() const;

    /// The text of a string, else its JSON form.
    std::string text() const;

    /// The JSON form: one line, or indented. What is not UTF-8 in a string is
    /// replaced by U+FFFD.
    std::string dump(bool pretty = false) const;

private:
    void write(std::string &out, bool pretty, unsigned depth) const;

    std::variant<std::nullptr_t, bool, uint64_t, int64_t, double, std::string, Array, Object>
        value_;
};

struct Json::Member {
    std::string name;
    Json value;
};

// Only here is Member complete, and with it the variant.
template <std::same_as<bool> T>
Json::Json(T value) : value_(value) {}
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) Json::Json(T value) : value_(uint64_t{value}) {}
template <std::signed_integral T>
Json::Json(T value) : value_(int64_t{value}) {}

// A value, or null if there is none.
template <class T>
Json or_null(const std::optional<T> &value) {
    return value ? Json(*value) : Json(nullptr);
}

}  // namespace dsctl
