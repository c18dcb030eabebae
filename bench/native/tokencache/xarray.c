// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's file, after kernel.h. */
#include <lib/xarray.c>
