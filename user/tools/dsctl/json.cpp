// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "utf8.hpp"

namespace dsctl {

namespace {

void write_string(std::string &out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        size_t length = character_bytes(text);
        unsigned char c = static_cast<unsigned char>(text[0]);
        char escape[8];
        if (length == 0) {
            out += "\xef\xbf\xbd";
            length = 1;
        } else if (c == '"' || c == '\\') {
            out += {'\\', static_cast<char>(c)};
        } else if (is_control(text.substr(0, length))) {  // the last byte is the number
            std::snprintf(escape, sizeof(escape), "\\u%04x",
                          static_cast<unsigned char>(text[length - 1]));
            out += escape;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    out += '"';
}

template <class T>
void write_number(std::string &out, T value) {
    char text[32];
    auto [end, error] = std::to_chars(text, text + sizeof(text), value);

    out.append(text, end);
}

void write_double(std::string &out, double value) {
    if (std::isfinite(value))
        write_number(out, value);
    else
        out += "null";
}

// Elements in brackets, on lines of their own if pretty.
template <class List, class Write>
void write_list(std::string &out, const List &list, const char *brackets, bool pretty,
                unsigned depth, Write write_element) {
    bool first = true;

    auto new_line = [&](unsigned level) {
        if (pretty && !list.empty())
            out += "\n" + std::string(size_t{2} * level, ' ');
    };
    out += brackets[0];
    for (const auto &element : list) {
        if (!first)
            out += ',';
        first = false;
        new_line(depth + 1);
        write_element(element);
    }
    new_line(depth);
    out += brackets[1];
}

}  // namespace

Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(const char *value) : value_(std::string(value)) {}
Json::Json(Array value) : value_(std::move(value)) {}
Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

Json::Json(const Json &) = default;
Json::Json(Json &&) noexcept = default;
Json &Json::operator=(const Json &) = default;
Json &Json::operator=(Json &&) noexcept = default;
Json::~Json() = default;

Json Json::array() {
    return Array();
}

Json Json::object() {
    Json json;

    json.value_ = Object();
    return json;
}

Json &Json::operator[](std::string_view name) {
    Object &object = std::get<Object>(value_);

    for (Member &member : object)
        if (member.name == name)
            return member.value;
    object.push_back({std::string(name), nullptr});
    return object.back().value;
}

const Json::Object &Json::members() const {
    static const Object none;
    const Object *object = std::get_if<Object>(&value_);

    return object ? *object : none;
}

void Json::push_back(Json element) {
    std::get<Array>(value_).push_back(std::move(element));
}

void Json::update(const Json &other) {
    for (const Member &member : other.members())
        (*this)[member.name] = member.value;
}

bool Json::empty() const {
    if (auto *array = std::get_if<Array>(&value_))
        return array->empty();
    return members().empty();
}

std::string Json::text() const {
    const std::string *string = std::get_if<std::string>(&value_);

    return string ? *string : dump();
}

std::string Json::dump(bool pretty) const {
    std::string out;

    write(out, pretty, 0);
    return out;
}

void Json::write(std::string &out, bool pretty, unsigned depth) const {
    if (std::holds_alternative<std::nullptr_t>(value_))
        out += "null";
    else if (auto *truth = std::get_if<bool>(&value_))
        out += *truth ? "true" : "false";
    else if (auto *natural = std::get_if<uint64_t>(&value_))
        write_number(out, *natural);
    else if (auto *integer = std::get_if<int64_t>(&value_))
        write_number(out, *integer);
    else if (auto *real = std::get_if<double>(&value_))
        write_double(out, *real);
    else if (auto *string = std::get_if<std::string>(&value_))
        write_string(out, *string);
    else if (auto *array = std::get_if<Array>(&value_))
        write_list(out, *array, "[]", pretty, depth,
                   [&](const Json &element) { element.write(out, pretty, depth + 1); });
    else
        write_list(out, members(), "{}", pretty, depth, [&](const Member &member) {
            write_string(out, member.name);
            out += pretty ? ": " : ":";
            member.value.write(out, pretty, depth + 1);
        });
}

}  // namespace dsctl
