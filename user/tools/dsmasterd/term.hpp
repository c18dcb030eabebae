// SPDX-License-Identifier: Apache-2.0
// Who has the store: the master of the latest term, of which a word in the space tells
// (store/label.hpp). A term begins when a master starts or joins the pool anew, and when one
// ends in order.
//
// The folder has the latest term that was begun with it, and what the word was before. What
// else the word says is the term of a master with another folder: with a copy of this one,
// or with that of which this is a copy. So of two that are alike one goes on, and one that
// was copied while a master ran is of no use after that one has ended in order.
#pragma once

#include "catalogue.hpp"
#include "pool/pool.hpp"

namespace dsmasterd {

/// Begins a term of the pool's client. Throws Refused if a later one was begun with another
/// folder, or its master is there. 0, or what the space failed with: then it may have begun.
int begin_term(ds_space *space, ds::pool::Pool &pool, Catalogue &catalogue, uint32_t &epoch);

/// Ends it: copies of the folder from before this are refused. If that fails, they are not.
void end_term(ds_space *space, Catalogue &catalogue);

}  // namespace dsmasterd
