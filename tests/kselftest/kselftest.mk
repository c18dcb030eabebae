# SPDX-License-Identifier: Apache-2.0
#
# Builds the kselftest programs into $(BUILD)/tests/kselftest. Included by the
# top-level Makefile; tests/kselftest/run.d runs them in virtual machines.
KSELFTEST_DIR	:= tests/kselftest
KSELFTEST_BIN	:= $(BUILD)/tests/kselftest
kselftest_progs	:= $(patsubst $(KSELFTEST_DIR)/%.c,$(KSELFTEST_BIN)/%,$(filter-out %/abi_layout.c,$(wildcard $(KSELFTEST_DIR)/*.c)))
kselftest_sh	:= $(patsubst $(KSELFTEST_DIR)/%,$(KSELFTEST_BIN)/%,$(wildcard $(KSELFTEST_DIR)/*.sh))

.PHONY: kselftest
ALL	+= kselftest
kselftest: $(kselftest_progs) $(kselftest_sh) $(KSELFTEST_BIN)/abi_layout

$(kselftest_progs): $(KSELFTEST_BIN)/%: $(KSELFTEST_DIR)/%.c $(wildcard $(KSELFTEST_DIR)/*.h include/uapi/ds/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude/uapi $(CFLAGS) -o $@ $< -lpthread

$(kselftest_sh): $(KSELFTEST_BIN)/%: $(KSELFTEST_DIR)/%
	@mkdir -p $(@D)
	install -m 755 $< $@

# Nothing to run: it compiles or it does not. 32-bit callers need no C library for that.
$(KSELFTEST_BIN)/abi_layout: $(KSELFTEST_DIR)/abi_layout.c $(addprefix include/uapi/ds/,directory.h ioctl.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -fsyntax-only -Iinclude/uapi $(CFLAGS) $<
	$(CC) -std=gnu11 -fsyntax-only -m32 -Iinclude/uapi -idirafter /usr/include/$(shell $(CC) -print-multiarch) $(CFLAGS) $<
	@touch $@
