// SPDX-License-Identifier: Apache-2.0
#ifndef DSPEER_ENDURE_HPP
#define DSPEER_ENDURE_HPP

namespace peer {

struct Target;

/**
 * Have ds.ko of this host connect to each faulty server at @p target.address and
 * the ports behind it, and attach each faulty segment. Prints TAP.
 * @return true if all tests passed
 */
bool endure(const Target &target);

}  // namespace peer

#endif
