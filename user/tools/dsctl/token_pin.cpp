// SPDX-License-Identifier: Apache-2.0
// dsctl token pin|unpin.
#include "token.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

Exit change(Call &call, uint8_t command, const std::string &verb, const std::string &done) {
    auto token = static_cast<uint32_t>(call.number("TOKEN"));
    nl::Message request(command);

    request.put(attr::token, token);
    Kernel(call).call(request, verb + " token " + hex(token));
    call.out.respond({{"token", token}});
    call.out.done("token " + hex(token) + " " + done);
    return Exit::ok;
}

}  // namespace

Exit token_pin(Call &call) {
    return change(call, DS_CMD_TOKEN_PIN, "pin", "stays in its tier");
}

Exit token_unpin(Call &call) {
    return change(call, DS_CMD_TOKEN_UNPIN, "unpin", "may move again");
}

}  // namespace dsctl
