// SPDX-License-Identifier: Apache-2.0
// 'dsctl top': what is watched, and how it is shown.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"

namespace dsctl {

enum class Order { by_number, by_traffic };

struct Panel {
    std::string title;
    std::vector<Column> columns;
    std::vector<Row> rows;
};

// What people see of a sample.
struct View {
    std::vector<std::pair<std::string, Cell>> fields;
    std::vector<Panel> panels;  // none of them empty
};

// What is watched. Rates are of the time between the last two samples; of the
// first one they are not known.
class TopSource {
public:
    virtual ~TopSource() = default;

    virtual void sample() = 0;
    virtual View view(Order order) const = 0;
    virtual Json json() const = 0;
};

// top_host.cpp: this host, as ds.ko knows it. Throws if it is not loaded.
std::unique_ptr<TopSource> watch_host(const Call &call);

// top_file.cpp: the pool in a file.
std::unique_ptr<TopSource> watch_file(const Call &call, const std::string &path);

// obj_top.cpp: the parameters of a verb that shows samples again and again; throws if it is
// to draw and there is no terminal; and its work.
std::vector<Param> top_params(std::string_view sort_help);
void need_terminal(const Call &call);
Exit run_top(Call &call, TopSource &source);

// top_screen.cpp: draws samples on the terminal until q, an interrupt, or the last of
// @p count samples has been shown for its time.
Exit show_on_screen(const Call &call, TopSource &source, std::chrono::milliseconds period,
                    uint64_t count);

}  // namespace dsctl
