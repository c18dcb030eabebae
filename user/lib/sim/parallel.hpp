// SPDX-License-Identifier: Apache-2.0
// Work that comes in numbered pieces, done by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ds::sim {

/// Runs work(0) to work(count - 1), each once, in at most @p threads threads. The first exception
/// is thrown again.
template <class Work>
void in_parallel(size_t count, unsigned threads, Work &&work) {
    std::atomic<size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    auto run = [&] {
        try {
            for (size_t i; (i = next++) < count;)
                work(i);
        } catch (...) {
            std::lock_guard lock(mutex);
            failure = std::current_exception();
            next = count;
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (size_t i = 1; i < std::min<size_t>(threads, count); i++)
                others.emplace_back(run);
        } catch (const std::system_error &) {
            // There can be no more threads: those that there are do the work.
        }
        run();
    }
    if (failure)
        std::rethrow_exception(failure);
}

}  // namespace ds::sim
