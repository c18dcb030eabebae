/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: operations that call back when they have ended, and the poll that
 * runs them. Part of ds/ds.h.
 */
#ifndef DS_ASYNC_H
#define DS_ASYNC_H

#include <stddef.h>
#include <stdint.h>

#include <ds/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * typedef ds_done_fn - called when the operations of one ds_submit() have ended
 * @arg: of ds_submit()
 * @status: 0 if all happened, else the status of the first that did not
 *
 * Context: inside ds_fabric_poll() or ds_fabric_close(). May call ds_submit(), not
 * ds_fabric_poll() or ds_fabric_close(). Must not throw: others that have ended would
 * never be told.
 */
typedef void (*ds_done_fn)(void *arg, int status);

/**
 * ds_submit() - run operations and be told when they have ended
 * @fabric: the fabric
 * @ops: as in ds_execute(); copied, so free to go after the return
 * @count: their number, at least 1
 * @timeout_ms: as in ds_execute(); what the kernel has taken ends by itself, so
 *	the end may come later than this
 * @results: array of @count, written before @done is called; may be NULL
 * @done: called once, not if ds_submit() fails
 * @arg: handed to @done
 *
 * Chains of one fabric are handed to the kernel in the order of the calls. When
 * the kernel has no room they wait in the library, in order.
 *
 * Return: 0, or as ds_execute() for wrong arguments; -EAGAIN: max_outstanding is
 * reached, call ds_fabric_poll() first.
 */
int ds_submit(struct ds_fabric *fabric, const struct ds_operation *ops, size_t count,
              uint32_t timeout_ms, struct ds_result *results, ds_done_fn done, void *arg);

/**
 * ds_fabric_poll() - run the callbacks of requests that have ended
 * @fabric: the fabric
 * @timeout_ms: how long to wait for one, 0 not to wait
 *
 * Also hands waiting chains to the kernel and tries failed ones again, so
 * requests make progress only while somebody calls this. Several threads may.
 *
 * Return: 1 if something happened, 0 if the time passed, -EINTR if a signal came.
 */
int ds_fabric_poll(struct ds_fabric *fabric, uint32_t timeout_ms);

/**
 * ds_fabric_outstanding() - requests of ds_submit() that have not ended
 * @fabric: the fabric
 *
 * Return: their number.
 */
size_t ds_fabric_outstanding(struct ds_fabric *fabric);

/**
 * ds_fabric_fd() - a file descriptor for an event loop
 * @fabric: the fabric; keeps the descriptor
 *
 * Return: a descriptor that is readable when ds_fabric_poll() has something to do.
 */
int ds_fabric_fd(struct ds_fabric *fabric);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_ASYNC_H */
