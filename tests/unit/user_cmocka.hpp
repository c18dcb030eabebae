// SPDX-License-Identifier: Apache-2.0
// CMocka for C++ files.
#pragma once

// clang-format off: cmocka.h needs the others before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}
// clang-format on
