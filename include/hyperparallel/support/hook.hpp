// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function that a user gives and a library calls later: any callable of one signature, or none.
//
//   hp::hook<bool(const hp::trained_step&)> after = [&](const hp::trained_step& s) { return s.loss > 0.1; };
//   if (after) after(step);
//
// It takes the place of std::function in options that front headers declare: <functional> costs a compiler a sixth of
// <regex>.
// Laws: a copy calls a copy of the callable; a callable that compares equal to nullptr, as an empty std::function or a
// null pointer to a function does, is none. Domain: one that is called is there.

#include <cstddef>
#include <type_traits>

namespace hyperparallel { inline namespace v0_2 {

template <class Signature>
class hook;

template <class Result, class... Arguments>
class hook<Result(Arguments...)> {
  template <class F>
  static constexpr bool is_callable =
      !std::is_same_v<std::remove_cvref_t<F>, hook> && std::is_invocable_r_v<Result, std::decay_t<F>&, Arguments...>;

 public:
  hook() = default;
  hook(std::nullptr_t) {}
  template <class F>
    requires is_callable<F>
  hook(F&& f) {
    using callable = std::decay_t<F>;
    callable held(static_cast<F&&>(f));
    if constexpr (requires { held == nullptr; })
      if (held == nullptr) return;
    callable_ = new callable(static_cast<callable&&>(held));
    does_ = &actions_on<callable>;
  }
  hook(const hook& other) : callable_(other ? other.does_->copy(other.callable_) : nullptr), does_(other.does_) {}
  hook(hook&& other) noexcept : callable_(other.callable_), does_(other.does_) { other.callable_ = nullptr; }
  hook& operator=(hook other) noexcept {
    void* const mine = callable_;
    const actions* const was = does_;
    callable_ = other.callable_;
    does_ = other.does_;
    other.callable_ = mine;
    other.does_ = was;
    return *this;
  }
  ~hook() {
    if (callable_ != nullptr) does_->destroy(callable_);
  }

  explicit operator bool() const { return callable_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    return does_->call(callable_, static_cast<Arguments&&>(arguments)...);
  }

 private:
  struct actions {
    Result (*call)(void*, Arguments&&...);
    void* (*copy)(const void*);
    void (*destroy)(void*) noexcept;
  };
  template <class F>
  static constexpr actions actions_on{
      [](void* f, Arguments&&... arguments) -> Result {
        return static_cast<Result>((*static_cast<F*>(f))(static_cast<Arguments&&>(arguments)...));
      },
      [](const void* f) -> void* { return new F(*static_cast<const F*>(f)); },
      [](void* f) noexcept { delete static_cast<F*>(f); }};

  void* callable_ = nullptr;
  const actions* does_ = nullptr;
};

}}  // namespace hyperparallel::v0_2
