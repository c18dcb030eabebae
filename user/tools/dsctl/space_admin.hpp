// SPDX-License-Identifier: Apache-2.0
// Making spaces, for 'space add' and for 'seg attach'.
#pragma once

#include <optional>

#include "kernel.hpp"
#include "map.hpp"

namespace dsctl {

// --size or --shift as log2 of a server's bytes; nothing if neither is given.
// A size that is no power of two is rounded up.
std::optional<uint32_t> chosen_shift(const Call &call);

// The log2 of a server that has room for so many bytes.
uint32_t shift_for(uint64_t bytes);

// The options that say what a new space is: --servers, --size, --shift.
extern const Param servers_option;
extern const Param size_option;
extern const Param shift_option;
extern const Param domain_option;

// What the kernel knows of a space; nothing if there is none of this number.
std::optional<nl::Message> find_space(Kernel &kernel, uint32_t id);

// The map of a space; throws Exit::not_found if there is none of this number.
Map map_of_space(Kernel &kernel, uint32_t id);

// The map of a space that SPACE_GET told of.
Map map_of(const nl::Message &space);

// The attached servers of a space, by server.
std::vector<nl::Message> attachments(Kernel &kernel, uint32_t id);

}  // namespace dsctl
