// SPDX-License-Identifier: Apache-2.0
/*
 * tsc: prints how fast this host's time stamp counter runs, in kHz.
 *
 * It is the counter of the test machines, too. On a busy host they measure it
 * wrongly by any factor, and then all their time is wrong by that factor.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES	100
#define SPAN_NS	50000000

struct moment {
	uint64_t ticks, ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Both clocks at one moment: of several tries the one that nothing came between. */
static struct moment look(void)
{
	struct moment m = { 0 };
	uint64_t before, after, best = UINT64_MAX;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = __rdtsc();
		uint64_t ns = now_ns();
		after = __rdtsc();
		if (after - before < best) {
			best = after - before;
			m = (struct moment){ before + best / 2, ns };
		}
	}
	return m;
}

int main(void)
{
	struct timespec span = { .tv_nsec = SPAN_NS };
	struct moment a = look(), b;

	nanosleep(&span, NULL);
	b = look();
	printf("%.0f\n", (b.ticks - a.ticks) * 1e6 / (b.ns - a.ns));
	return 0;
}
