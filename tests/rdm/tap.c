// SPDX-License-Identifier: Apache-2.0
#include "tap.h"

#include <stdarg.h>

static int tests, failures;
static bool all_good;

void begin(void)
{
	all_good = true;
}

void end(const char *name)
{
	printf("%sok %d - %s\n", all_good ? "" : "not ", ++tests, name);
	failures += !all_good;
}

bool good(void)
{
	return all_good;
}

void wrong(const char *format, ...)
{
	va_list args;

	all_good = false;
	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

void expect(const char *what, uint64_t have, uint64_t want)
{
	if (have != want)
		wrong("%s is 0x%" PRIx64 ", not 0x%" PRIx64, what, have, want);
}

void expect_bytes(const char *what, const uint8_t *have, const void *want, size_t length)
{
	const uint8_t *bytes = want;
	size_t i = 0;

	while (i < length && have[i] == bytes[i])
		i++;
	if (i < length)
		wrong("%s, byte %zu is 0x%02x, not 0x%02x", what, i, have[i], bytes[i]);
}

int tap_done(void)
{
	printf("1..%d\n", tests);
	return failures > 0;
}
