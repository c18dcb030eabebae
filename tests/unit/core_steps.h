/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STEPS_H
#define CORE_STEPS_H

/*
 * The steps of a test in which threads meet: a sanitizer takes ten times as long for each. That
 * of threads tells of a race also where it did no harm; that of addresses is not here for races.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STEPS(number) ((number) / 10)
#else
#define STEPS(number) (number)
#endif

#endif
