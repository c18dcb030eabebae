// SPDX-License-Identifier: Apache-2.0
// ds::Task: a coroutine that runs operations with co_await.
//
// A task starts when it is awaited, or by Fabric::run(). It goes on inside
// Fabric::poll(), on the thread that polls. An exception that leaves it is
// thrown where it is awaited. Other coroutine types may await operations too, if their
// promise keeps the exceptions: none may leave resume(), which the C library calls.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace ds {

template <class T>
class Task;

namespace detail {

struct PromiseBase {
    std::coroutine_handle<> continuation = std::noop_coroutine();
    std::exception_ptr thrown;

    // At the end go on with whoever awaits, without growing the stack.
    struct Final {
        bool await_ready() noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) noexcept {
            return h.promise().continuation;
        }
        void await_resume() noexcept {}
    };

    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }

    void rethrow() const {
        if (thrown)
            std::rethrow_exception(thrown);
    }
};

template <class T>
struct Promise : PromiseBase {
    std::optional<T> value;

    Task<T> get_return_object();
    template <class U = T>  // so that `co_return {};` is a T
    void return_value(U &&v) {
        value.emplace(std::forward<U>(v));
    }
    T take() {
        rethrow();
        return std::move(*value);
    }
};

template <>
struct Promise<void> : PromiseBase {
    Task<void> get_return_object();
    void return_void() {}
    void take() { rethrow(); }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
public:
    using promise_type = detail::Promise<T>;

    Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task &operator=(Task &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_)
            handle_.destroy();
    }

    void start() { handle_.resume(); }
    bool done() const { return handle_.done(); }
    T take() { return handle_.promise().take(); }  ///< after done(), once

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
        handle_.promise().continuation = awaiting;
        return handle_;
    }
    T await_resume() { return take(); }

private:
    friend promise_type;
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

    std::coroutine_handle<promise_type> handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace ds
