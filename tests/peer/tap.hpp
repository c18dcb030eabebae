// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * TAP, the output of tests: a plan, then a line a test.
 */
#ifndef DSPEER_TAP_HPP
#define DSPEER_TAP_HPP

#include <functional>
#include <iostream>

#include "bytes.hpp"

namespace peer {

class Tap {
public:
    void plan(std::size_t count) { std::cout << "1.." << count << std::endl; }

    /** Run a test, which throws Failed when it fails. */
    void test(const std::string &name, const std::function<void()> &run) {
        auto start = Clock::now();
        std::string failure;
        try {
            run();
        } catch (const Failed &error) {
            failure = error.what();
        }
        auto took = std::chrono::duration_cast<Millis>(Clock::now() - start).count();
        if (!failure.empty())
            std::cout << "# " << failure << "\n";
        std::cout << (failure.empty() ? "ok " : "not ok ") << ++number_ << " - " << name << "\n# "
                  << took << " ms" << std::endl;
        all_ok_ &= failure.empty();
    }

    bool all_ok() const { return all_ok_; }

private:
    std::size_t number_ = 0;
    bool all_ok_ = true;
};

}  // namespace peer

#endif
