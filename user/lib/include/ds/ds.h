/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: memory of other hosts, from C.
 *
 * This header is all of it; each of those that it includes is one idea, and may
 * be included alone.
 *
 * A fabric is an open /dev/ds, or a file that stands for it (ds/local.h).
 * Through it a program opens spaces (remote memory, named by addresses), makes
 * buffers (local memory that the RDMA device reads and writes) and runs
 * operations between the two. docs/library.md is the guide; ds/ds.hpp is the
 * same for C++.
 *
 * Errors: a function that can fail returns a negative errno, and 0 or a
 * positive number if it succeeds; ds_strerror() and ds_remedy() have the
 * words. There is no error state anywhere else. An operation also has an
 * outcome: whether it happened is a question of its own (struct ds_result).
 *
 * Ownership: what a function makes through an out pointer is the caller's, to
 * be given back with the function named there. Spaces, buffers, services and
 * segments keep the open file alive, so they may be given back after
 * ds_fabric_close(), in any order.
 *
 * Threads: every function may be called by any thread at any time, except that
 * an object must not be in use by another call while it is given back.
 * Callbacks run only inside ds_fabric_poll() and ds_fabric_close(), on the
 * calling thread; the library has no threads of its own and holds no lock
 * while a callback runs.
 *
 * Times are milliseconds on the monotonic clock. Nothing waits for ever.
 */
#ifndef DS_DS_H
#define DS_DS_H

#include <ds/address.h>
#include <ds/async.h>
#include <ds/buffer.h>
#include <ds/error.h>
#include <ds/fabric.h>
#include <ds/ioctl.h>
#include <ds/local.h>
#include <ds/message.h>
#include <ds/operation.h>
#include <ds/rdm.h>
#include <ds/segment.h>
#include <ds/space.h>
#include <ds/store.h>
#include <ds/tree.h>

#endif /* DS_DS_H */
