// SPDX-License-Identifier: Apache-2.0
// For tests of trace files: what packs them.
#pragma once

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <string>

#include "user_sim.hpp"

namespace simtest {

using Pack = std::string (*)(const std::string &);

inline std::string gzipped(const std::string &content) {
    std::string out(content.size() + 1000, 0);
    z_stream z{};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
    z.avail_in = static_cast<uInt>(content.size());
    z.next_out = reinterpret_cast<Bytef *>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

inline std::string xzed(const std::string &content) {
    std::string out(content.size() + 1000, 0);
    size_t size = 0;

    assert_int_equal(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr,
                                reinterpret_cast<const uint8_t *>(content.data()), content.size(),
                                reinterpret_cast<uint8_t *>(out.data()), &size, out.size()),
        LZMA_OK);
    out.resize(size);
    return out;
}

inline std::string zstded(const std::string &content) {
    std::string out(ZSTD_compressBound(content.size()), 0);
    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> z(ZSTD_createCCtx(), ZSTD_freeCCtx);

    ZSTD_CCtx_setParameter(z.get(), ZSTD_c_checksumFlag, 1);
    out.resize(ZSTD_compress2(z.get(), out.data(), out.size(), content.data(), content.size()));
    return out;
}

constexpr Pack packs[] = {gzipped, xzed, zstded};

}  // namespace simtest
