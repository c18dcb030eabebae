// SPDX-License-Identifier: Apache-2.0
// Work that comes in numbered pieces, done by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <ds/result.hpp>

namespace ds::sim {

/// Throws what one of several threads threw. The memory of all of them is free again.
[[noreturn]] inline void throw_again(const std::exception_ptr &failure, bool several) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::bad_alloc &) {
        if (several)
            throw Failure({ENOMEM, "There is no memory for so much at a time.",
                           "Use fewer --threads, or a machine with more memory.", false});
        throw;
    }
}

/// Runs work(0) to work(count - 1), each once, in at most @p threads threads. The first exception
/// is thrown again, as Failure if memory is short for several of them.
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
        throw_again(failure, std::min<size_t>(threads, count) > 1);
}

}  // namespace ds::sim
