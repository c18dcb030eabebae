// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque handles of ds/ds.h. Each keeps the engine, and
// with it the open file, alive.
#pragma once

#include <memory>

#include <ds/fabric.hpp>

namespace ds::fabric {
class Engine;
}

struct ds_space {
    std::shared_ptr<ds::fabric::Engine> engine;
    ds::fabric::SpaceInfo info;
    uint32_t timeout_ms = 0;  // of calls that name none; 0: DS_TIMEOUT_DEFAULT
    uint32_t access = 0;      // DS_ACCESS_* that it was opened with
};

struct ds_buffer {
    std::shared_ptr<ds::fabric::Engine> engine;
    ds::fabric::BufferInfo info;
};

struct ds_segment {
    std::shared_ptr<ds::fabric::Engine> engine;
    ds::fabric::SegmentInfo info;
};

struct ds_service {
    std::shared_ptr<ds::fabric::Engine> engine;
    uint32_t handle;
};

struct ds_fabric {
    std::shared_ptr<ds::fabric::Engine> engine;
};
