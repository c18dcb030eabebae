// SPDX-License-Identifier: Apache-2.0
#ifndef DSPEER_HAND_HPP
#define DSPEER_HAND_HPP

namespace peer {

struct Target;

/** A handshake and a heartbeat without one line of the module's code. */
void hand_handshake(const Target &target);

}  // namespace peer

#endif
