/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: how often ds_cache_tick() is called, and how far it goes: in the module, and so in the
 * simulator.
 */
#ifndef DS_TOKENCACHE_TICK_H
#define DS_TOKENCACHE_TICK_H

#define DS_TICK_NS	100000000u	/* from one tick to the next */
#define DS_TICK_STEPS	64u		/* of a tick: its budget */
#define DS_TICK_LOOK	64u		/* slots of a tier, in a step */

#endif /* DS_TOKENCACHE_TICK_H */
