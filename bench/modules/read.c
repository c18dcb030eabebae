// SPDX-License-Identifier: GPL-2.0-only
/* The core's file, compiled for a module of its own. */
#include "tokencache/read.c"
