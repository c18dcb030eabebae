// SPDX-License-Identifier: Apache-2.0
// ds::TokenDirectory, on a file that stands for /dev/ds.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <thread>

#include <ds/token_directory.hpp>

#include "tokencache/word.h"
#include "user_cmocka.hpp"

namespace {

using ds::TokenDirectory;
using ds::TokenWord;

// As much of a directory as a test writes; the rest of the file is a hole.
class Device {
public:
    explicit Device(uint32_t version = DS_DIRECTORY_VERSION) : fd_(memfd_create("ds", 0)) {
        assert_true(fd_ >= 0);
        assert_int_equal(ftruncate(fd_, off_t(DS_DIRECTORY_OFFSET) + DS_DIRECTORY_BYTES), 0);
        at_ = mmap(nullptr, DS_DIRECTORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                   off_t(DS_DIRECTORY_OFFSET));
        assert_true(at_ != MAP_FAILED);
        head()->version = version;
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    ~Device() {
        munmap(at_, DS_DIRECTORY_BYTES);
        close(fd_);
    }

    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
    void end(uint32_t end) { __atomic_store_n(&head()->end, end, __ATOMIC_RELEASE); }
    void word(uint32_t index, uint64_t word) {
        auto words = reinterpret_cast<uint64_t *>(static_cast<char *>(at_) + DS_DIRECTORY_WORDS);
        __atomic_store_n(&words[index], word, __ATOMIC_RELAXED);
    }

private:
    ds_token_directory *head() { return static_cast<ds_token_directory *>(at_); }

    int fd_;
    void *at_;
};

int error_of(const std::string &path) {
    auto directory = TokenDirectory::open(path.c_str());

    return directory ? 0 : directory.error().code;
}

void what_cannot_be_opened(void **) {
    assert_int_equal(error_of("/nowhere/ds"), ENODEV);
    assert_int_equal(error_of("/"), EISDIR);
    assert_int_equal(error_of("/dev/null"), ENODEV);
    assert_int_equal(error_of(Device(0).path()), EPROTO);
    assert_int_equal(error_of(Device(DS_DIRECTORY_VERSION + 1).path()), EPROTO);
    assert_int_equal(error_of(Device().path()), 0);
}

// As the core has it, for each state, wherever a token on its way may be.
void words_are_the_cores(void **) {
    for (uint32_t state = 0; state < 8; state++)
        for (uint32_t slot : {0u, 1u, 2u, 0x1fffffu, 0x200000u, 0x200001u, 0x3fffffu}) {
            uint64_t bits = ds_word_move(ds_word_make(200, DS_TOKEN_L3, DS_TOKEN_CQ),
                                         ds_token_state(state), slot);
            TokenWord word(bits);
            assert_int_equal(word.state(), ds_word_state(bits));
            assert_int_equal(word.live(), ds_word_is_live(bits));
            assert_int_equal(word.moving(), ds_word_is_moving(bits));
            assert_int_equal(word.type(), DS_TOKEN_CQ);
            assert_int_equal(word.generation(), 200);
            assert_int_equal(word.version(), 1);
            assert_int_equal(word.uses(), 0);
            assert_int_equal(word.handle(77), ds_token_make(DS_TOKEN_CQ, 200, 77));
            if (!word.live())
                continue;
            assert_int_equal(word.tier(), ds_word_tier(bits));
            if (word.tier() < 3)
                assert_int_equal(word.slot(), ds_word_tier_slot(bits));
        }
    TokenWord all(~0ULL), none(0);
    assert_int_equal(all.uses(), 0xffff);
    assert_int_equal(all.version(), 1023);
    assert_int_equal(all.generation(), 255);
    assert_int_equal(all.type(), DS_TOKEN_QP);
    assert_true(all.pinned() && all.dirty() && !none.pinned() && !none.dirty());
    assert_true(TokenWord(DS_WORD_PINNED).pinned() && !TokenWord(DS_WORD_PINNED).dirty());
    assert_false(TokenWord(DS_WORD_WRITER).pinned() || TokenWord(DS_WORD_WRITER).dirty());
}

std::set<uint32_t> tokens_of(const TokenDirectory &directory) {
    std::set<uint32_t> tokens;

    directory.each([&](uint32_t token, TokenWord) { assert_true(tokens.insert(token).second); });
    return tokens;
}

void each_live_token_is_met(void **) {
    Device device;
    auto directory = TokenDirectory::open(device.path().c_str()).or_throw();
    uint64_t qp = ds_word_make(3, DS_TOKEN_L2, DS_TOKEN_QP);

    device.word(0, qp);
    assert_true(tokens_of(directory).empty());
    device.end(1024);
    device.word(1, ds_word_make(4, DS_TOKEN_REVOKED, DS_TOKEN_QP));
    device.word(2, ds_word_make(4, DS_TOKEN_FREE, DS_TOKEN_QP));
    device.word(1023, ds_word_make(1, DS_TOKEN_TO_L2, DS_TOKEN_PD));
    device.word(1024, qp);  // beyond the end
    assert_true(tokens_of(directory) ==
                (std::set{ds_token_make(DS_TOKEN_QP, 3, 0), ds_token_make(DS_TOKEN_PD, 1, 1023)}));
    // The last one that there can be.
    device.end(1u << DS_TOKEN_INDEX_BITS);
    device.word((1u << DS_TOKEN_INDEX_BITS) - 1, qp);
    assert_int_equal(tokens_of(directory).size(), 4);
    auto moved = std::move(directory);
    assert_int_equal(tokens_of(moved).size(), 4);
}

// Whoever sees the end sees the words below.
void it_grows(void **) {
    constexpr uint32_t pages = 200;
    Device device;
    auto directory = TokenDirectory::open(device.path().c_str()).or_throw();
    std::thread grower([&] {
        for (uint32_t index = 0; index < pages * 1024; index++) {
            device.word(index, ds_word_make(1, DS_TOKEN_L3, DS_TOKEN_MR));
            if (index % 1024 == 1023)
                device.end(index + 1);
        }
    });
    uint32_t end = 0;
    do {
        assert_true(directory.end() >= end);
        end = directory.end();
        for (uint32_t index = end < 1024 ? 0 : end - 1024; index < end; index++)
            assert_true(directory.word(index).live());
    } while (end < pages * 1024);
    grower.join();
    assert_int_equal(tokens_of(directory).size(), pages * 1024);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(words_are_the_cores),
        cmocka_unit_test(each_live_token_is_met),
        cmocka_unit_test(it_grows),
    };

    return cmocka_run_group_tests_name("user_directory", tests, nullptr, nullptr);
}
