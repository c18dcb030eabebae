/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STEPS_H
#define CORE_STEPS_H

/*
 * The steps of a test in which threads meet: the thread sanitizer takes ten times as long for
 * each, and tells of a race also where it did no harm.
 */
#ifdef __SANITIZE_THREAD__
#define STEPS(number) ((number) / 10)
#else
#define STEPS(number) (number)
#endif

#endif
