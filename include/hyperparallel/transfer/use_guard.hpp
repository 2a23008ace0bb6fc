// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to a tensor of an offload session, for as long as a guard lives.
//
// Law: while a guard lives its tensor is on tier 0, at one address; there is any number of reading guards or one that
// writes. The session refuses whatever would break it, so a guard never dangles unless it outlives the session.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/transfer/copy_engine.hpp>
#include <hyperparallel/transfer/session_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class tensor_access : unsigned char {
  read,
  update,     ///< reads and writes
  overwrite,  ///< needs no old value: the tensor may be anywhere, or nowhere
};

namespace detail {

struct offloaded_tensor {
  struct copy {
    bool held = false;   ///< there is a block
    bool valid = false;  ///< the block holds the value, or will when `under_way` is complete; on tier 0: is resident
    std::byte* address = nullptr;
    copy_ticket under_way;  ///< towards this tier
  };
  std::string name;
  std::int64_t bytes = 0;
  std::vector<copy> on;  ///< by tier
  int source = 0;        ///< where the last prefetch came from
  bool leaving = false;  ///< detached, and still on tier 0 because stores read it
  bool ahead = false;    ///< on tier 0, or on its way there, on approval
  int readers = 0;
  bool written = false;
  std::string failure;
};

}  // namespace detail

/// While it lives, the tensor stays where it is on tier 0: any number of reads, or one write. Ends before the session.
class use_guard {
 public:
  use_guard() = default;
  use_guard(use_guard&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)), access_(other.access_) {}
  use_guard& operator=(use_guard&& other) noexcept {
    if (this == &other) return *this;
    end();
    tensor_ = std::exchange(other.tensor_, nullptr);
    access_ = other.access_;
    return *this;
  }
  ~use_guard() { end(); }

  explicit operator bool() const { return tensor_ != nullptr; }

  /// The tensor as objects of T. Throws session_error for objects that could be written where the use is for reading.
  template <class T>
  std::span<T> as() const {
    if (access_ == tensor_access::read && !std::is_const_v<T>)
      throw session_error(session_code::use_is_for_reading, "use", tensor_->name, tensor_->bytes, 0);
    return {reinterpret_cast<T*>(tensor_->on[0].address), static_cast<std::size_t>(tensor_->bytes) / sizeof(T)};
  }

  void end() noexcept;

 private:
  friend class offload_session;
  use_guard(detail::offloaded_tensor& tensor, tensor_access access);

  detail::offloaded_tensor* tensor_ = nullptr;
  tensor_access access_ = tensor_access::read;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/use_guard.ipp>
#endif
