// SPDX-License-Identifier: Apache-2.0
// --fabric: the kernel module, or a file of this host (ds/local.h).
#pragma once

#include <optional>
#include <string>

#include <ds/local.h>

#include "call.hpp"

namespace dsctl {

// The file of --fabric, or of DS_FABRIC in the environment; nothing if it is the
// kernel module. Throws if it names neither.
std::optional<std::string> local_file(const Settings &settings);

// Throws if a file is chosen: the command is about the kernel module.
void need_module(const Call &call);

// What pool is in the file. Throws if there is none.
ds_local_options describe_local(const std::string &path);

// The error of a file that cannot be opened.
Error local_error(int rc, const std::string &path);

// 'space create' and, of a file, 'space show'.
Exit space_create(Call &call);
Exit space_show_local(Call &call, const std::string &path);

}  // namespace dsctl
