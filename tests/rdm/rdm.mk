# SPDX-License-Identifier: Apache-2.0
#
# Builds what talks to the packet service from outside into $(BUILD)/tests/rdm.
# Included by the top-level Makefile; the scenario `packet` of tests/e2e runs it.
rdm_test_out	:= $(BUILD)/tests/rdm

.PHONY: rdm-tests
ALL	+= rdm-tests
rdm-tests: $(rdm_test_out)/host $(rdm_test_out)/load $(SERIES:%=$(rdm_test_out)/ds_echo-%.ko)

$(rdm_test_out)/host $(rdm_test_out)/load: $(rdm_test_out)/%: tests/rdm/%.c tests/rdm/raw.c $(wildcard tests/rdm/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) -o $@ $(filter %.c,$^)

# Executable, as all that dsvm takes to its machines.
$(rdm_test_out)/ds_echo-%.ko: $(wildcard tests/rdm/echo/*)
	@mkdir -p $(@D) $(BUILD)/echo-$*
	scripts/kernels fetch $*
	cp $^ $(BUILD)/echo-$*
	+$(MAKE) --no-print-directory -C "$$(scripts/kernels dir $*)/build" M="$(CURDIR)/$(BUILD)/echo-$*" W=1 KCFLAGS=-Werror \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	install -m 755 $(BUILD)/echo-$*/ds_echo.ko $@
