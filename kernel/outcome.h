/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: what is known about an operation that has ended (docs/design.md rule 9).
 */
#ifndef DS_OUTCOME_H
#define DS_OUTCOME_H

#include "shim.h"
#include <ds/ioctl.h>

/**
 * enum ds_wc_class - how a work request ended
 * @DS_WC_OK: well
 * @DS_WC_REMOTE_NAK: the responder refused it: access error, invalid request
 * @DS_WC_LOCAL: it never left this host
 * @DS_WC_LOST: no answer: retries exceeded, flushed, or a status we do not know
 */
enum ds_wc_class {
	DS_WC_OK = 0,
	DS_WC_REMOTE_NAK = 1,
	DS_WC_LOCAL = 2,
	DS_WC_LOST = 3,
};

/**
 * ds_outcome - set the status and the outcome of a completion
 * @opcode: enum ds_opcode
 * @c: how its work request ended; an unknown value counts as DS_WC_LOST
 * @cqe: only @status and @outcome are written
 *
 * A refused READ, CAS or FETCH_ADD did nothing. A refused WRITE may be there in
 * part, because the responder checks each packet as it comes.
 */
void ds_outcome(u8 opcode, enum ds_wc_class c, struct ds_cqe *cqe);

#endif /* DS_OUTCOME_H */
