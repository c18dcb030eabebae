# SPDX-License-Identifier: Apache-2.0
"""The token cache: look-ups beside the kernel's xarray, memory, hit ratios beside other policies, models."""
import tokencache_lookup
import tokencache_path
import tokencache_sim

# Each has run(options), which returns rows.
GROUPS = (tokencache_lookup, tokencache_path, tokencache_sim)


def run(options):
    """All of it. Returns the rows."""
    return [row for group in GROUPS for row in group.run(options)]
