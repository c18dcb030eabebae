// SPDX-License-Identifier: Apache-2.0
// Writes into remote memory, reads it back, and counts its runs there.
#include <ds/ds.h>
#include <stdio.h>
#include <string.h>

static int check(const char *what, int rc) {
    if (rc < 0)
        fprintf(stderr, "hello: %s: %s\n  %s\n", what, ds_strerror(rc), ds_remedy(rc));
    return rc;
}

int main(void) {
    const uint64_t text = 0x10200000, counter = 0x10240000;
    struct ds_fabric *fabric = NULL;
    struct ds_space *space = NULL;
    struct ds_buffer *buffer = NULL;
    struct ds_result result;
    int rc;

    if ((rc = check("open /dev/ds", ds_fabric_open(NULL, &fabric))) < 0 ||
        (rc = check("open space 1", ds_space_open(fabric, 1, DS_ACCESS_ALL, &space))) < 0 ||
        (rc = check("allocate", ds_buffer_alloc(fabric, 4096, -1, &buffer))) < 0)
        goto out;
    strcpy(ds_buffer_data(buffer), "hello from far away");
    if ((rc = check("write", ds_write(space, text, buffer, 0, 64, 0, NULL))) < 0 ||
        (rc = check("read", ds_read(space, text, buffer, 2048, 64, 0, NULL))) < 0 ||
        (rc = check("fetch-add", ds_fetch_add(space, counter, 1, 0, &result))) < 0)
        goto out;
    printf("%s, run %llu\n", (char *)ds_buffer_data(buffer) + 2048,
           (unsigned long long)result.value + 1);
out:
    ds_buffer_free(buffer);
    ds_space_close(space);
    ds_fabric_close(fabric);
    return rc < 0;
}
