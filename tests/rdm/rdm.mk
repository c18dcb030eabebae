# SPDX-License-Identifier: Apache-2.0
#
# Builds what talks to the packet service from outside into $(BUILD)/tests/rdm, and the
# echo that it is compared with. Included by the top-level Makefile; the scenario `packet`
# of tests/e2e runs them.
ifndef LIB_CORE
include user/lib/lib.mk
endif

rdm_test_out	:= $(BUILD)/tests/rdm
rdm_test_progs	:= $(patsubst %,$(rdm_test_out)/%,host load hostile)
rdm_test_flags	:= -std=gnu11 -D_GNU_SOURCE -Iinclude/uapi -Ikernel $(CFLAGS)

.PHONY: rdm-tests
ALL	+= rdm-tests
rdm-tests: $(rdm_test_progs) $(SERIES:%=$(rdm_test_out)/ds_echo-%.ko)

$(rdm_test_progs): $(wildcard tests/rdm/*.h include/uapi/ds/*.h kernel/rdm/packet*.h)

$(rdm_test_out)/host $(rdm_test_out)/load: $(rdm_test_out)/%: tests/rdm/%.c tests/rdm/raw.c tests/rdm/tap.c
	@mkdir -p $(@D)
	$(CC) $(rdm_test_flags) -o $@ $(filter %.c,$^)

$(rdm_test_out)/hostile: $(patsubst %,tests/rdm/%.c,hostile hostile1 hostile2 flood raw tap) $(LIB_CORE)
	@mkdir -p $(@D)
	$(CC) $(rdm_test_flags) -o $@ $(filter %.c,$^) $(LIB_CORE) -lpthread

# Executable, as all that dsvm takes to its machines.
$(rdm_test_out)/ds_echo-%.ko: $(wildcard tests/rdm/echo/*)
	@mkdir -p $(@D) $(BUILD)/echo-$*
	scripts/kernels fetch $*
	cp $^ $(BUILD)/echo-$*
	+$(MAKE) --no-print-directory -C "$$(scripts/kernels dir $*)/build" M="$(CURDIR)/$(BUILD)/echo-$*" W=1 KCFLAGS=-Werror \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	install -m 755 $(BUILD)/echo-$*/ds_echo.ko $@
