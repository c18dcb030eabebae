// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of the portable core (docs/design.md rule 1). Core files are those of
 * kernel/ with the core's licence line. Each includes only shim.h, other core
 * headers and the contract, and each .c file is in the module's Kbuild. The
 * user-space build takes every such file and stops at its first warning.
 */
#define _GNU_SOURCE	/* nftw */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORE_LICENCE	"SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0"
#define KERNEL_DIR	UNIT_SOURCE_DIR "/kernel"
#define FILES_MAX	256

static char *core[FILES_MAX];
static int core_files;

static bool ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a >= b && !strcmp(s + a - b, end);
}

static int collect(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char line[256] = "";
	FILE *f;

	(void)st;
	(void)ftw;
	if (type != FTW_F || !(ends_with(path, ".c") || ends_with(path, ".h")) ||
	    ends_with(path, ".mod.c"))
		return 0;
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f) && strstr(line, CORE_LICENCE)) {
		if (core_files == FILES_MAX)
			abort();
		core[core_files++] = realpath(path, NULL);
	}
	fclose(f);
	return 0;
}

static int find_core(void **state)
{
	(void)state;
	return nftw(KERNEL_DIR, collect, 16, FTW_PHYS);
}

static int forget_core(void **state)
{
	(void)state;
	while (core_files)
		free(core[--core_files]);
	return 0;
}

static bool is_core(const char *path)
{
	int i;

	for (i = 0; i < core_files; i++)
		if (!strcmp(core[i], path))
			return true;
	return false;
}

/* An include with quotes is looked for beside the file that has it. */
static bool quoted_is_core(const char *from, const char *name)
{
	char path[4096], *real;
	bool ok;

	snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(from, '/') - from), from, name);
	real = realpath(path, NULL);
	ok = real && is_core(real);
	free(real);
	return ok;
}

static bool include_allowed(const char *from, const char *line)
{
	char name[256];

	if (sscanf(line, " # include <%255[^>]", name) == 1)
		return !strncmp(name, "ds/", 3);
	if (sscanf(line, " # include \"%255[^\"]", name) == 1)
		return quoted_is_core(from, name);
	return false;
}

static int foreign_includes(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	int bad = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char word[16];

		if (sscanf(line, " # %15[a-z_]", word) != 1 || strcmp(word, "include"))
			continue;
		if (!include_allowed(path, line)) {
			print_error("%s: not for the core: %s", path, line);
			bad++;
		}
	}
	fclose(f);
	return bad;
}

static void core_was_found(void **state)
{
	static const char * const known[] = {
		"shim.h", "handle.c", "handshake.c", "outcome.c", "rdm/layout.c",
		"tokencache/token.c",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(quoted_is_core(KERNEL_DIR "/x", known[i]));
}

static void core_includes_only_core(void **state)
{
	int i, bad = 0;

	(void)state;
	for (i = 0; i < core_files; i++)
		if (!ends_with(core[i], "/kernel/shim.h"))
			bad += foreign_includes(core[i]);
	assert_int_equal(bad, 0);
}

static void check_sees_foreign_includes(void **state)
{
	static const char * const bad[] = {
		"#include <linux/slab.h>", "# include <linux/list.h>", "#include <stdio.h>",
		"#include \"verbs.h\"", "#include \"../x.h\"", "#include MACRO",
		"\t#  include <uapi/rdma/ib_user_verbs.h>",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(include_allowed(KERNEL_DIR "/handle.c", bad[i]));
	assert_true(include_allowed(KERNEL_DIR "/handle.c", "#include \"shim.h\""));
	assert_true(include_allowed(KERNEL_DIR "/rdm/layout.c", "#include \"../shim.h\""));
	assert_true(include_allowed(KERNEL_DIR "/handle.h", "#include <ds/token.h>"));
}

static void core_is_in_the_module(void **state)
{
	char kbuild[16384] = " ", object[256], *p;
	char *kernel_dir = realpath(KERNEL_DIR, NULL);
	const char *relative;
	size_t n;
	int i, missing = 0;
	FILE *f = fopen(KERNEL_DIR "/Kbuild", "r");

	(void)state;
	assert_non_null(f);
	n = fread(kbuild + 1, 1, sizeof(kbuild) - 3, f);
	fclose(f);
	kbuild[n + 1] = ' ';
	for (p = kbuild; *p; p++)
		if (strchr("\t\n\\", *p))
			*p = ' ';
	for (i = 0; i < core_files; i++) {
		if (!ends_with(core[i], ".c"))
			continue;
		relative = core[i] + strlen(kernel_dir) + 1;
		snprintf(object, sizeof(object), " %.*s.o ", (int)strlen(relative) - 2, relative);
		if (!strstr(kbuild, object)) {
			print_error("%s is not in kernel/Kbuild\n", relative);
			missing++;
		}
	}
	free(kernel_dir);
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_was_found),
		cmocka_unit_test(core_includes_only_core),
		cmocka_unit_test(check_sees_foreign_includes),
		cmocka_unit_test(core_is_in_the_module),
	};

	return cmocka_run_group_tests_name("core_rules", tests, find_core, forget_core);
}
