// SPDX-License-Identifier: Apache-2.0
// dsctl top: the screen.
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>

// Its macros are called as common words are.
#define NCURSES_NOMACROS
#include <curses.h>

#include "interrupt.hpp"
#include "top.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using Clock = std::chrono::steady_clock;

// The terminal, as long as this lives. It is given back as it was, also on an error.
class Screen {
public:
    Screen(const Settings &settings, const std::string &command);
    Screen(const Screen &) = delete;
    Screen &operator=(const Screen &) = delete;
    ~Screen();

    void draw(const View &view, Order order);

private:
    int attribute_of(Style style) const;
    void line(const Row &pieces, int attributes);

    std::string command_;
    SCREEN *screen_;
    bool color_;
    int row_ = 0;
};

Screen::Screen(const Settings &settings, const std::string &command) : command_(command) {
    const char *term = std::getenv("TERM"), *no_color = std::getenv("NO_COLOR");

    std::setlocale(LC_CTYPE, "");
    screen_ = newterm(nullptr, stdout, stdin);
    if (!screen_)
        throw usage(
            "nothing is known of this terminal: TERM is '" + std::string(term ? term : "") + "'",
            "set TERM to what the terminal is, or add --batch for plain text");
    cbreak();
    noecho();
    nodelay(stdscr, true);
    curs_set(0);
    color_ = settings.color != "never" &&
             (settings.color == "always" || !(no_color && *no_color)) && has_colors();
    if (!color_)
        return;
    start_color();
    use_default_colors();
    init_pair(1, COLOR_GREEN, -1);
    init_pair(2, COLOR_RED, -1);
    init_pair(3, COLOR_YELLOW, -1);
}

Screen::~Screen() {
    endwin();
    delscreen(screen_);
}

int Screen::attribute_of(Style style) const {
    if (style == Style::dim)
        return A_DIM;
    if (!color_ || style == Style::plain)
        return A_NORMAL;
    return COLOR_PAIR(style == Style::good ? 1 : style == Style::bad ? 2 : 3);
}

// What is behind the right edge is cut off; behind the lowest line nothing is drawn.
void Screen::line(const Row &pieces, int attributes) {
    if (row_ >= LINES)
        return;
    move(row_++, 0);
    for (const Cell &piece : pieces) {
        int left = COLS - getcurx(stdscr);
        if (left <= 0 || getcury(stdscr) != row_ - 1)
            break;
        attrset(attributes | attribute_of(piece.style));
        addnstr(piece.text.c_str(), left);
    }
    attrset(A_NORMAL);
}

void Screen::draw(const View &view, Order order) {
    std::vector<Row> fields;

    erase();
    row_ = 0;
    line({command_ + ": q ends it, s sorts by " +
          (order == Order::by_traffic ? "number" : "traffic")},
         A_DIM);
    for (const auto &[label, cell] : view.fields)
        fields.push_back({label, cell});
    // The labels are a column of their own.
    std::vector<Row> lines = lay_out({{""}, {"", false, true}}, fields, static_cast<size_t>(COLS));
    for (size_t i = 1; i < lines.size(); i++)
        line(lines[i], A_NORMAL);
    for (const Panel &panel : view.panels) {
        line({""}, A_NORMAL);
        line({panel.title}, A_BOLD);
        lines = lay_out(panel.columns, panel.rows, static_cast<size_t>(COLS));
        for (size_t i = 0; i < lines.size(); i++)
            line(lines[i], i == 0 ? A_UNDERLINE : A_NORMAL);
    }
    refresh();
}

// Until a key, another size of the terminal, an interrupt or the time. False if
// the terminal is gone.
bool wait_for_key(Clock::time_point time) {
    pollfd terminal{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};

    wait_until(time, &terminal);
    return !(terminal.revents & (POLLHUP | POLLERR | POLLNVAL));
}

// "dsctl top", "dsctl token top"
std::string command_of(const Call &call) {
    std::string verb(call.verb.name);

    return "dsctl " + std::string(call.object.name) + (verb == "show" ? "" : " " + verb);
}

}  // namespace

Exit show_on_screen(const Call &call, TopSource &source, std::chrono::milliseconds period,
                    uint64_t count) {
    Order order = call.has("--sort") ? Order::by_traffic : Order::by_number;

    // Before the screen is there: ncurses leaves handlers alone that are set.
    watch_interrupts();
    source.sample();
    Clock::time_point next = Clock::now() + period;
    Screen screen(call.settings, command_of(call));
    screen.draw(source.view(order), order);
    for (;;) {
        if (!wait_for_key(next))
            return Exit::ok;
        if (interrupted())
            return Exit::interrupted;
        for (int key; (key = getch()) != ERR;) {
            if (key == 'q' || key == 'Q')
                return Exit::ok;
            if (key == 's')
                order = order == Order::by_number ? Order::by_traffic : Order::by_number;
        }
        if (Clock::now() >= next) {
            if (--count == 0)
                return Exit::ok;
            source.sample();
            next = Clock::now() + period;
        }
        screen.draw(source.view(order), order);
    }
}

}  // namespace dsctl
