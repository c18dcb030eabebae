// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "units.hpp"
#include "utf8.hpp"

namespace dsctl {

namespace {

constexpr size_t min_shrunk = 8;  // a cut column keeps this many characters
constexpr size_t gap = 2;         // blanks between columns

bool wants_color(const std::string &when) {
    const char *no_color = std::getenv("NO_COLOR");

    if (when != "auto")
        return when == "always";
    return !(no_color && *no_color) && isatty(STDOUT_FILENO);
}

// Characters of a UTF-8 text, each counted as one column.
size_t width_of(const std::string &text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

// Takes width from the widest columns that may shrink until the line fits. If it cannot, none is
// cut.
void fit(const std::vector<Column> &columns, std::vector<size_t> &widths, size_t limit) {
    size_t total = gap * (columns.size() - 1), least = total;
    auto may_shrink = [&](size_t i) { return columns[i].shrinks && widths[i] > min_shrunk; };

    for (size_t i = 0; i < widths.size(); i++) {
        total += widths[i];
        least += may_shrink(i) ? min_shrunk : widths[i];
    }
    for (; total > limit && least <= limit; total--) {
        size_t widest = columns.size();
        for (size_t i = 0; i < columns.size(); i++)
            if (may_shrink(i) && (widest == columns.size() || widths[i] > widths[widest]))
                widest = i;
        widths[widest]--;
    }
}

void print_error(const Error &error) {
    std::fprintf(stderr, "dsctl: %s (%s)\n  fix: %s\n", printable(error.sentence).c_str(),
                 error.code.c_str(), printable(error.remedy).c_str());
}

}  // namespace

size_t line_width(int fd) {
    struct winsize size = {};

    if (const char *columns = std::getenv("COLUMNS"))
        if (auto width = parse_number(columns); width && *width >= 20)
            return *width;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 0;
}

std::string cut(const std::string &text, size_t width) {
    size_t at = 0;

    if (width_of(text) <= width)
        return text;
    for (size_t left = width - 1; at < text.size(); at++) {
        if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
            continue;
        if (left-- == 0)
            break;
    }
    return text.substr(0, at) + "~";
}

std::string printable(const std::string &text) {
    std::string result;
    std::string_view left = text;

    while (!left.empty()) {
        // A terminal may take a stray byte for a control character, too.
        size_t length = character_bytes(left);
        std::string_view character = left.substr(0, std::max<size_t>(length, 1));
        result += length == 0 || is_control(character) ? "?" : character;
        left.remove_prefix(character.size());
    }
    return result;
}

std::vector<Row> lay_out(const std::vector<Column> &columns, const std::vector<Row> &rows,
                         size_t limit) {
    std::vector<Row> cells{Row{}}, lines;
    std::vector<size_t> widths;

    for (const Column &column : columns)
        cells[0].emplace_back(column.header);
    cells.insert(cells.end(), rows.begin(), rows.end());
    for (size_t i = 0; i < columns.size(); i++) {
        size_t width = 0;
        for (Row &row : cells) {
            row[i].text = printable(row[i].text);
            width = std::max(width, width_of(row[i].text));
        }
        widths.push_back(width);
    }
    if (limit)
        fit(columns, widths, limit);

    for (const Row &row : cells) {
        Row pieces;
        std::string blanks;  // before the next piece; none at the end of a line
        for (size_t i = 0; i < columns.size(); i++) {
            Cell cell{cut(row[i].text, widths[i]), row[i].style};
            std::string pad(widths[i] - width_of(cell.text), ' ');
            if (columns[i].right)
                blanks += pad;
            if (!cell.text.empty()) {
                pieces.emplace_back(blanks);
                pieces.push_back(cell);
                blanks.clear();
            }
            if (!columns[i].right)
                blanks += pad;
            blanks += std::string(gap, ' ');
        }
        lines.push_back(pieces);
    }
    return lines;
}

Output::Output(const Settings &settings)
    : settings_(settings), color_(wants_color(settings.color)) {}

std::string Output::styled(const Cell &cell) const {
    const char *code = "";

    switch (cell.style) {
    case Style::plain:
        return cell.text;
    case Style::good:
        code = "32";
        break;
    case Style::bad:
        code = "31";
        break;
    case Style::warning:
        code = "33";
        break;
    case Style::dim:
        code = "2";
        break;
    }
    if (!color_)
        return cell.text;
    return format("\033[%sm%s\033[0m", code, cell.text.c_str());
}

void Output::line(const std::string &text) {
    if (!json())
        std::printf("%s\n", text.c_str());
}

void Output::done(const std::string &sentence, const std::string &result) {
    if (!quiet())
        line(printable(sentence));
    else if (!result.empty())
        line(result);
}

void Output::fields(const std::vector<std::pair<std::string, Cell>> &fields) {
    size_t width = 0;

    for (const auto &[label, cell] : fields)
        width = std::max(width, label.size());
    for (const auto &[label, cell] : fields)
        line(format("%-*s  %s", static_cast<int>(width), label.c_str(),
                    styled({printable(cell.text), cell.style}).c_str()));
}

void Output::table(const std::vector<Column> &columns, const std::vector<Row> &rows) {
    if (json())
        return;
    for (const Row &pieces : lay_out(columns, rows, line_width(STDOUT_FILENO))) {
        std::string text;
        for (const Cell &piece : pieces)
            text += styled(piece);
        line(text);
    }
}

void Output::warn(const std::string &text) {
    warnings_.push_back(text);
    if (!json() && !quiet())
        std::fprintf(stderr, "dsctl: warning: %s\n", printable(text).c_str());
}

void Output::trace(const std::string &text) {
    if (settings_.verbose)
        std::fprintf(stderr, "dsctl: %s\n", text.c_str());
}

void Output::print_document(Exit exit, const Error *error) {
    Json document{{"schema", "dsctl/" + schema_ + "/v1"}, {"response", response_}};

    document["error"] = nullptr;
    if (error)
        document["error"] = {{"code", error->code},
                             {"errno", error->errnum},
                             {"message", error->sentence},
                             {"remedy", error->remedy},
                             {"context", error->context}};
    document["status"] = static_cast<int>(exit);
    document["warnings"] = warnings_;
    std::printf("%s\n", document.dump(settings_.pretty).c_str());
    printed_ = true;
}

void Output::flush_document() {
    if (json())
        print_document(Exit::ok, nullptr);
    response_ = Json::array();
    warnings_ = Json::array();
    flush();
}

void Output::flush() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw from_errno("OUT", errno, "cannot write the output: " + errno_text(errno),
                         errno == EBADF ? "leave standard output open for writing"
                                        : "make room where the output goes");
}

int Output::finish(Exit exit, const Error *error) {
    // After documents of their own an empty one more would say nothing.
    if (json() && !(printed_ && !error && response_.empty()))
        print_document(exit, error);
    std::optional<Error> lost;
    try {
        flush();
    } catch (const Error &reason) {
        lost = reason;
    }
    if (error && !json())
        print_error(*error);
    if (lost) {
        print_error(*lost);
        return static_cast<int>(Exit::failed);
    }
    return static_cast<int>(exit);
}

}  // namespace dsctl
