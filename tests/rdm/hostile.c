// SPDX-License-Identifier: Apache-2.0
/*
 * DS: a host that may send packets to the packet service, and sends it everything but what
 * it should. Prints TAP. It needs the space for itself but for what others have allocated
 * there already, and leaves its own allocations of version 1 behind.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "tap.h"

static struct hostile hostile = { .keyed_space = -1 };
static uint64_t count = 10000, seed = 1;
static bool only_flood;

static _Noreturn void usage(void)
{
	printf("usage: hostile -i INTERFACE -s ADDRESS [-p PORT] [-2 PORT] [OPTION...]\n%s"
	       "  -2 PORT        of the server, of wire version 2\n"
	       "  -S NUMBER      space to use (0)\n"
	       "  -t NUMBER      its tenant (0)\n"
	       "  -K NUMBER:KEY  a space of the same tenant with that key, 32 hexadecimal digits\n"
	       "  -n NUMBER      packets of the flood at the end (10000)\n"
	       "  -r NUMBER      its seed (1)\n"
	       "  -o             only the flood\n", raw_usage);
	exit(2);
}

static void keyed(const char *text)
{
	char *digits;

	hostile.keyed_space = strtoll(text, &digits, 0);
	if (*digits++ != ':' || strlen(digits) != 2 * sizeof(hostile.key))
		usage();
	for (size_t i = 0; i < sizeof(hostile.key); i++)
		if (sscanf(digits + 2 * i, "%2hhx", &hostile.key[i]) != 1)
			usage();
}

static void parse(int argc, char **argv)
{
	uint16_t port2 = 0;
	int option;

	while ((option = getopt(argc, argv, RAW_OPTIONS "2:S:t:K:n:r:o")) != -1) {
		if (option == '2')
			port2 = strtoul(optarg, NULL, 10);
		else if (option == 'S')
			hostile.space = strtoul(optarg, NULL, 0);
		else if (option == 't')
			hostile.tenant = strtoul(optarg, NULL, 0);
		else if (option == 'K')
			keyed(optarg);
		else if (option == 'n')
			count = strtoull(optarg, NULL, 0);
		else if (option == 'r')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			only_flood = true;
		else if (!raw_option(&hostile.v1, option, optarg))
			usage();
	}
	if (optind < argc || (!hostile.v1.server_port && !port2))
		usage();
	hostile.v2 = hostile.v1;
	hostile.v2.server_port = port2;
	hostile.v2.port = (hostile.v1.port ? hostile.v1.port : RAW_PORT) + 1;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	if (hostile.v1.server_port) {
		raw_open(&hostile.v1);
		begin_version1(&hostile);
	}
	if (hostile.v2.server_port) {
		raw_open(&hostile.v2);
		begin_version2(&hostile);
	}
	if (hostile.v1.server_port && !only_flood)
		attack_version1();
	if (hostile.v2.server_port && !only_flood)
		attack_version2();
	if (count)
		flood(&hostile, count, seed);
	return tap_done();
}
