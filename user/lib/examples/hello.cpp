// SPDX-License-Identifier: Apache-2.0
// Writes into remote memory, reads it back, and counts its runs there.
#include <cstring>
#include <ds/ds.hpp>
#include <iostream>

ds::Task<uint64_t> hello(const ds::Space &space, const ds::Buffer &buffer) {
    std::strcpy(&buffer.at<char>(), "hello from far away");
    (co_await space.async_write(0x10200000, buffer.slice(0, 64))).or_throw();
    (co_await space.async_read(0x10200000, buffer.slice(2048, 64))).or_throw();
    co_return (co_await space.async_fetch_add(0x10240000, 1)).or_throw();
}

int main() try {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Space space = fabric.open_space(1).or_throw();
    ds::Buffer buffer = fabric.alloc(4096).or_throw();
    uint64_t runs = fabric.run(hello(space, buffer)) + 1;
    std::cout << &buffer.at<char>(2048) << ", run " << runs << '\n';
} catch (const ds::Failure &failure) {
    std::cerr << "hello: " << failure.what() << "\n  " << failure.error().remedy << '\n';
    return 1;
}
