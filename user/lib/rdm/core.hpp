// SPDX-License-Identifier: Apache-2.0
// The packet formats, which ds.ko is built from too.
#pragma once

extern "C" {
#include <rdm/packet.h>
#include <rdm/packet1.h>
#include <rdm/packet2.h>
#include <rdm/session.h>
}
