// SPDX-License-Identifier: Apache-2.0
// dsctl token: the token cache of this host.
#include "token.hpp"

namespace dsctl {

namespace {

const Object token{
    .name = "token",
    .summary = "the token cache: what is known of RDMA objects, and who is used",
    .verbs = {token_record_verb()},
};

const Register registered(token);

}  // namespace

}  // namespace dsctl
