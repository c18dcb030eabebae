// SPDX-License-Identifier: Apache-2.0
// From bytes to requests, format by format, and which format it is.
#pragma once

#include "sim/builder.hpp"
#include "sim/ds_format.hpp"
#include "sim/source.hpp"

namespace ds::sim {

struct Guess {
    Format format;
    bool may_be_wrong = false;  ///< nothing but how its numbers look speaks for it
};

/// The format of what begins so, looking at no more than Source::longest_peek bytes.
/// Throws Failure (EBADMSG) if no format, or more than one, can be meant.
Guess guess(Source &source);

/// Reads the source to its end. Each throws Failure, as read_trace() says.
void decode_integers(Source &source, Builder &builder);
void decode_lis(Source &source, Builder &builder);
void decode_address(Source &source, Builder &builder, uint32_t block);
void decode_csv(Source &source, Builder &builder);
void decode_ds(Source &source, Builder &builder);
void decode_u32be(Source &source, Builder &builder);
void decode_u64le(Source &source, Builder &builder);
void decode_oracle(Source &source, Builder &builder);

/// Does it name a column of csv that is read? Of one column it is all that tells csv from numbers.
bool is_column_name(std::string_view text);

/// Are these columns of csv but for what is between them: one has such a name, or a number is
/// before a word?
bool has_tabs_for_commas(std::string_view line);

/// libCacheSim's oracleGeneral, packed.
struct [[gnu::packed]] OracleRecord {
    uint32_t seconds;
    uint64_t id;
    uint32_t size;
    int64_t next;  ///< request of the same object, counted from 0 or 1; -1 if there is none
};
static_assert(sizeof(OracleRecord) == 24);

}  // namespace ds::sim
