// SPDX-License-Identifier: Apache-2.0
// ds/local.h: files with a pool.
#include <ds/local.h>

#include <ds/ioctl.h>
#include <ds/layout.h>

#include "abi/guard.hpp"
#include "fabric/local_file.hpp"

using ds::abi::fill;
using ds::abi::guard;
using ds::abi::take;
using ds::fabric::LocalFile;
using ds::fabric::LocalShape;

int ds_local_create(const char *path, const ds_local_options *options) {
    ds_local_options o{};
    if (options)
        if (int rc = take(options, o); rc < 0)
            return rc;
    LocalShape shape{
        .space = o.space ? o.space : 1,
        .servers = o.servers ? o.servers : 1,
        .server_shift = o.server_shift ? o.server_shift : DS_LAYOUT_SERVER_SHIFT,
        .access = o.access ? o.access : DS_ACCESS_ALL,
    };
    return guard([&] { return LocalFile::create(path, shape, o.mode ? o.mode : 0600); });
}

int ds_local_describe(const char *path, ds_local_options *options) {
    LocalShape shape;
    if (int rc = LocalFile::inspect(path, shape); rc < 0)
        return rc;
    return fill(options, ds_local_options{
                             .size = 0,
                             .space = shape.space,
                             .servers = shape.servers,
                             .server_shift = shape.server_shift,
                             .access = shape.access,
                             .mode = 0,
                         });
}
