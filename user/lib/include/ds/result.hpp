// SPDX-License-Identifier: Apache-2.0
// ds::Error and ds::Result: how the C++ side of libdsuser reports failure.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <ds/error.h>

namespace ds {

/// Why something failed, for a program and for a person.
struct Error {
    int code = 0;          ///< errno value, positive
    std::string sentence;  ///< what is wrong, one sentence
    std::string remedy;    ///< what to do about it, one sentence
    bool unknown = false;  ///< of an operation: it may have happened (DS_UNKNOWN)

    /// The library's own words for errno @p code; its sign does not matter.
    static Error from(int code) { return from(code, ds_strerror(code)); }

    /// The same with a sentence that knows more than the errno does.
    static Error from(int code, std::string sentence) {
        return {code < 0 ? -code : code, std::move(sentence), ds_remedy(code), false};
    }
};

/// What or_throw() throws.
class Failure : public std::runtime_error {
public:
    explicit Failure(Error error) : std::runtime_error(error.sentence), error_(std::move(error)) {}
    const Error &error() const { return error_; }

private:
    Error error_;
};

/// A value or an Error. Asking for the one that is not there throws
/// std::logic_error, because it is a mistake of the program.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T &value() & { return check(), *std::get_if<0>(&state_); }
    const T &value() const & { return check(), *std::get_if<0>(&state_); }
    T &&value() && { return check(), std::move(*std::get_if<0>(&state_)); }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T &&operator*() && { return std::move(*this).value(); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }

    /// The value; an Error is thrown as Failure, for programs that work that way. Of a
    /// Result that stays the value stays in it.
    T or_throw() && { return std::move(or_throw()); }
    T &or_throw() & {
        if (!ok())
            throw Failure(error());
        return value();
    }
    const T &or_throw() const & {
        if (!ok())
            throw Failure(error());
        return value();
    }

    const Error &error() const {
        if (ok())
            throw std::logic_error("ds::Result: error() of a value");
        return *std::get_if<1>(&state_);
    }

private:
    void check() const {
        if (!ok())
            throw std::logic_error("ds::Result: value() of an error: " + error().sentence);
    }

    std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
public:
    Result() : Result<std::monostate>(std::monostate{}) {}
    Result(Error error) : Result<std::monostate>(std::move(error)) {}
};

}  // namespace ds
