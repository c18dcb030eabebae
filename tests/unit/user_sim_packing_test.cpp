// SPDX-License-Identifier: Apache-2.0
// Packed trace files: long ones, damaged ones, and pieces behind each other.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include "user_sim_files.hpp"
#include "user_sim_packs.hpp"

namespace {

using namespace simtest;

/// Longer than all buffers, and not of one piece of them.
void a_long_file(void **) {
    Folder folder;
    std::string content;

    for (int i = 0; i < 300'000; i++)
        content += std::to_string(i % 99'991) + "\n";
    for (Pack pack : packs) {
        Trace trace = read_trace(folder.file(pack(content)));
        assert_int_equal(trace.requests.size(), 300'000);
        assert_int_equal(trace.uniques, 99'991);
        assert_int_equal(trace.requests[299'999].id, 299'999 % 99'991);
    }
    assert_true(has(refused(folder.file(gzipped(content + "x"))).sentence, "Line 300001 "));
}

/// Of the file as it is stored: its size is known.
void progress(void **) {
    Folder folder;
    std::string content;

    for (int i = 0; i < 500'000; i++)
        content += std::to_string(i % 1000) + "\n";
    for (const std::string &stored : {content, gzipped(content), zstded(content)}) {
        std::vector<uint64_t> told;
        read_trace(folder.file(stored), {.progress = [&](uint64_t n) { told.push_back(n); }});
        assert_true(std::ranges::is_sorted(told));
        assert_int_equal(told.back(), stored.size());
        assert_true(told.size() > stored.size() / (2 * Source::longest_peek));
    }
}

/// Cut off at each byte, and with each byte changed: refused, or nothing of it
/// matters.
void damaged_packings(void **) {
    Folder folder;
    std::string content;
    std::mt19937 random(7);

    for (int i = 0; i < 100; i++)
        content += std::to_string(random()) + "\n";
    Trace whole = read_trace(folder.file(content));
    for (Pack pack : packs) {
        std::string packed = pack(content);
        size_t unnoticed = 0;
        for (size_t length = 6; length < packed.size(); length++)
            assert_int_equal(refused(folder.file(packed.substr(0, length))).code, EBADMSG);
        for (size_t at = 6; at < packed.size(); at++) {
            std::string damaged = packed;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
            try {
                assert_true(read_trace(folder.file(damaged)).keys == whole.keys);
                unnoticed++;
            } catch (const ds::Failure &failure) {
                assert_int_equal(failure.error().code, EBADMSG);
            }
        }
        assert_true(unnoticed <= 4);  // time and system in the header of gzip
        assert_int_equal(refused(folder.file(packed + "more and more")).code, EBADMSG);
    }
}

/// What a damaged file unpacks to may be wrong as well: that is not what is to be told.
void a_wrong_line_of_a_damaged_packing(void **) {
    Folder folder;
    std::string content = "x\n";

    for (int i = 0; i < 400'000; i++)
        content += std::to_string(i) + "\n";
    for (Pack pack : packs)
        for (Format format : {Format::guess, Format::u64le, Format::ds}) {
            std::string packed = pack(content + "1234567"),
                        cut = packed.substr(0, packed.size() - 9);
            auto whole = refused(folder.file(packed), {.format = format});
            auto damaged = refused(folder.file(cut), {.format = format});
            assert_false(has(whole.sentence, "compressed") || has(whole.remedy, "again"));
            assert_int_equal(damaged.code, EBADMSG);
            assert_true(has(damaged.sentence, "in the middle of its compressed data"));
            assert_true(has(damaged.remedy, "again"));
        }
}

/// It is said where: not where the piece begins that was read at once, which may be all of the
/// file.
void where_it_is_damaged(void **) {
    Folder folder;
    std::string content;
    std::mt19937 random(7);

    for (int i = 0; i < 20'000; i++)
        content += std::to_string(random()) + "\n";
    for (Pack pack : packs) {
        std::string packed = pack(content);
        size_t hole = packed.size() * 3 / 4, near = 0;
        packed.replace(hole, 16 << 10, 16 << 10, '\xff');
        std::string said = refused(folder.file(packed)).sentence;
        assert_int_equal(sscanf(strstr(said.c_str(), "near byte"), "near byte %zu", &near), 1);
        assert_in_range(near, hole - (8 << 10), packed.size());
    }
}

/// Zeros between pieces and behind the last one, however many, are nothing. All
/// else is damage.
void padded_packings(void **) {
    Folder folder;
    std::string content = "1\n2\n";

    for (Pack pack : packs)
        for (size_t zeros : {4, 512, 200'000}) {
            std::string padded = pack(content) + std::string(zeros, '\0');
            assert_int_equal(read_trace(folder.file(padded)).requests.size(), 2);
            assert_int_equal(read_trace(folder.file(padded + pack("3\n") + padded)).uniques, 3);
            assert_int_equal(refused(folder.file(padded + "x")).code, EBADMSG);
        }
}

/// With a window of so many bytes, or of all the content if its size is said.
std::string zstded_with(int window_log, const std::string &content, uint64_t size) {
    std::string out(ZSTD_compressBound(content.size()), 0);
    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> z(ZSTD_createCCtx(), ZSTD_freeCCtx);
    ZSTD_inBuffer in{content.data(), content.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};

    ZSTD_CCtx_setParameter(z.get(), ZSTD_c_windowLog, window_log);
    if (size > 0)
        ZSTD_CCtx_setPledgedSrcSize(z.get(), size);
    assert_false(ZSTD_isError(ZSTD_compressStream2(z.get(), &to, &in, ZSTD_e_flush)));
    if (size == 0)
        assert_int_equal(ZSTD_compressStream2(z.get(), &to, &in, ZSTD_e_end), 0);
    return out.substr(0, to.pos);
}

/// What takes too much memory is not called damaged, and another copy of it would be no better. It
/// is said how much it needs, and how much there is for it.
void a_wide_window(void **) {
    const std::string content = "1\n2\n3\n";
    Folder folder;
    auto check = [&](const std::string &packed, const std::string &needed,
                     const std::string &most) {
        auto error = refused(folder.file(packed));
        if (!has(error.sentence, "needs " + needed + " MiB of memory to be unpacked, and " + most +
                                     " MiB are the most that it may take"))
            fail_msg("%s", error.sentence.c_str());
        assert_true(has(error.remedy, "Unpack it") && !has(error.remedy, "again"));
    };

    for (auto [window_log, needed] : {std::pair(28, "256"), {30, "1024"}}) {
        std::string wide = zstded_with(window_log, content, 0);
        check(wide, needed, "128");
        check(zstded(content) + wide, needed, "128");  // the frame that is meant
    }
    check(zstded_with(30, content, uint64_t(200) << 20), "200", "128");
    assert_int_equal(read_trace(folder.file(zstded_with(27, content, 0))).requests.size(), 3);

    // Of xz it is the dictionary.
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 0));
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
    for (uint32_t mib : {1024, 128}) {
        std::string out(1000, 0);
        size_t size = 0;
        options.dict_size = mib << 20;
        assert_int_equal(lzma_stream_buffer_encode(
                             const_cast<lzma_filter *>(filters), LZMA_CHECK_CRC32, nullptr,
                             reinterpret_cast<const uint8_t *>(content.data()), content.size(),
                             reinterpret_cast<uint8_t *>(out.data()), &size, out.size()),
                         LZMA_OK);
        out.resize(size);
        if (mib > 128)
            check(out, "1024", "256");
        else
            assert_int_equal(read_trace(folder.file(out)).requests.size(), 3);
    }
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_file),         cmocka_unit_test(progress),
        cmocka_unit_test(damaged_packings),    cmocka_unit_test(a_wrong_line_of_a_damaged_packing),
        cmocka_unit_test(where_it_is_damaged), cmocka_unit_test(padded_packings),
        cmocka_unit_test(a_wide_window),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
