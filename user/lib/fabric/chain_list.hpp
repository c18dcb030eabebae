// SPDX-License-Identifier: Apache-2.0
// ds::fabric::ChainList: a queue of chains through Chain::next. A chain is in
// one list at a time, so lists need no memory and cannot fail.
#pragma once

#include <utility>

#include <ds/fabric.hpp>

namespace ds::fabric {

class ChainList {
public:
    bool empty() const { return !head_; }
    Chain *front() const { return head_; }

    void push(Chain *chain) {
        chain->next = nullptr;
        (head_ ? tail_->next : head_) = chain;
        tail_ = chain;
    }

    Chain *pop() {
        Chain *chain = head_;
        head_ = chain->next;
        return chain;
    }

    /// Keeps the list sorted by not_before; chains usually come in that order.
    void push_sorted(Chain *chain) {
        if (!head_ || tail_->not_before <= chain->not_before)
            return push(chain);
        Chain **at = &head_;
        while ((*at)->not_before <= chain->not_before)
            at = &(*at)->next;
        chain->next = std::exchange(*at, chain);
    }

    /// Moves the chains for which @p leaves is true to the end of @p to.
    template <class Pred>
    void move_if(ChainList &to, Pred &&leaves) {
        for (ChainList all = std::exchange(*this, {}); !all.empty();) {
            Chain *chain = all.pop();
            (leaves(*chain) ? to : *this).push(chain);
        }
    }

private:
    Chain *head_ = nullptr;
    Chain *tail_ = nullptr;  // valid if head_ is
};

}  // namespace ds::fabric
