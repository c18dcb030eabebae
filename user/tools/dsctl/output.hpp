// SPDX-License-Identifier: Apache-2.0
// What a command prints: one JSON document for programs, or text for people.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace dsctl {

// The global options.
struct Settings {
    bool json = false;
    bool pretty = false;
    bool quiet = false;
    bool verbose = false;
    bool progress = false;
    std::string color = "auto";
    std::optional<uint64_t> timeout_ms;
    std::optional<std::string> fabric;
    unsigned batches = 0;  // that it is in, each in the one before
};

enum class Style { plain, good, bad, warning, dim };

// A cell of a table.
struct Cell {
    Cell(std::string text, Style style = Style::plain) : text(std::move(text)), style(style) {}
    Cell(const char *text) : text(text) {}

    std::string text;
    Style style = Style::plain;
};

struct Column {
    std::string header;
    bool right = false;    // numbers
    bool shrinks = false;  // may be cut when the table is wider than the terminal
};

using Row = std::vector<Cell>;

// The lines of a table, its header first. Each is made of pieces that are printed
// one behind the other. limit is the width of the terminal, 0 if there is none.
std::vector<Row> lay_out(const std::vector<Column> &columns, const std::vector<Row> &rows,
                         size_t limit);

class Output {
public:
    explicit Output(const Settings &settings);

    bool json() const { return settings_.json; }
    bool quiet() const { return settings_.quiet; }
    const Settings &settings() const { return settings_; }

    // The part of "dsctl/<name>/v1" in the middle.
    void set_schema(const std::string &name) { schema_ = name; }

    // Adds an element to the JSON response.
    void respond(Json element) { response_.push_back(std::move(element)); }

    // For people: what was done. With -q only the result, as a script wants it.
    void done(const std::string &sentence, const std::string &result = "");

    // For people.
    void table(const std::vector<Column> &columns, const std::vector<Row> &rows);
    void fields(const std::vector<std::pair<std::string, Cell>> &fields);
    void line(const std::string &text);

    // Both: "warnings" in JSON, a line on stderr for people.
    void warn(const std::string &text);

    // On stderr with -v.
    void trace(const std::string &text);

    // Prints what is collected so far as a document of its own (--watch).
    void flush_document();

    // Sends what is printed on its way; throws if nobody can take it.
    void flush();

    // The output is no document, but lines of the command's own (monitor).
    void no_document() { printed_ = true; }

    // Ends the output. Returns the exit status, which is not the given one if
    // standard output cannot be written.
    int finish(Exit exit, const Error *error = nullptr);

private:
    std::string styled(const Cell &cell) const;
    void print_document(Exit exit, const Error *error);

    Settings settings_;
    bool color_;
    std::string schema_ = "usage";
    Json response_ = Json::array();
    Json warnings_ = Json::array();
    bool printed_ = false;
};

// The text with control characters replaced: nothing that a peer or another
// process chose may command the terminal.
std::string printable(const std::string &text);

// $COLUMNS, or the width of the terminal that @p fd is; 0 if lines may be as long as they are.
size_t line_width(int fd);

// At most so many characters of a UTF-8 text, one at least; the last is ~ if some are missing.
std::string cut(const std::string &text, size_t width);

}  // namespace dsctl
