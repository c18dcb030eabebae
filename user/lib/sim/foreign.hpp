// SPDX-License-Identifier: Apache-2.0
// Files that are no traces, known by their first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ds::sim {

/// Throws Failure (EBADMSG) for a file that is packed or a container of numbers, whatever format
/// it is said to be of.
void refuse_packed(const std::string &path, std::span<const uint8_t> bytes);

/// The same for all that is known and is no trace, and for one that was cut so early that it is the
/// beginning of something known. @p whole: are these bytes all of the file?
void refuse_foreign(const std::string &path, std::span<const uint8_t> bytes, bool whole);

}  // namespace ds::sim
