// SPDX-License-Identifier: Apache-2.0
#include "btree/cache.hpp"

#include <algorithm>

namespace ds::btree {

Inner::Inner(const Node &node)
    : low(node.head.body.low),
      high(node.head.body.high),
      last(node.head.body.last),
      sibling{node.head.body.sibling} {
    Entries entries = entries_of(node);
    children.assign(entries.all().begin(), entries.all().end());
}

int Inner::child_of(uint64_t key) const {
    auto it = std::upper_bound(children.begin(), children.end(), key,
                               [](uint64_t k, const Entry &e) { return k < e.key; });
    return static_cast<int>(it - children.begin()) - 1;
}

size_t Inner::bytes() const {
    constexpr size_t around = 64;  // of the list and of the index, about
    return sizeof(*this) + around + children.capacity() * sizeof(Entry);
}

const Inner *Cache::find(Pointer at) {
    auto it = index_.find(at.word);
    if (it == index_.end())
        return nullptr;
    list_.splice(list_.begin(), list_, it->second);
    return &it->second->inner;
}

void Cache::put(Pointer at, const Inner &inner) {
    drop(at);
    if (inner.bytes() > budget_)
        return;
    list_.push_front({at, inner});
    index_[at.word] = list_.begin();
    bytes_ += list_.front().inner.bytes();
    while (bytes_ > budget_)
        remove(std::prev(list_.end()));
}

void Cache::drop(Pointer at) {
    if (auto it = index_.find(at.word); it != index_.end())
        remove(it->second);
}

void Cache::clear() {
    list_.clear();
    index_.clear();
    bytes_ = 0;
}

void Cache::remove(List::iterator kept) {
    bytes_ -= kept->inner.bytes();
    index_.erase(kept->at.word);
    list_.erase(kept);
}

}  // namespace ds::btree
