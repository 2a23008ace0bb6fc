// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hooks on the tensors that a forward pass saves for the backward pass: pack when one is saved, unpack when it is
// needed.
//
//   hp::saved_tensors_scope scope(std::make_shared<hp::offload_hooks>());     // forward
//   hp::packed_tensor kept = hp::save_for_backward(session, x);               // after the last forward use of x
//   …
//   hp::use_guard g = kept.unpack();                                          // backward
//
// `offload_hooks` puts a packed tensor away: a store begins, and tier 0 is free when it is complete; unpack brings the
// tensor back, and with it, as far as there is free room, those packed before it, which a backward pass needs next.
// Laws: hooks change where a tensor is, never its value; a tensor packed by several operators is put away once; unpack
// happens once for each pack, and twice is an error that names the tensor; a scope gives the hooks that were there
// before back. Hooks belong to the thread. Source: the pack and unpack hooks of PyTorch's autograd, whose shape this
// has.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/tiers/offload_session.hpp>

namespace hyperparallel { inline namespace v0_2 {

class saved_tensor_hooks {
 public:
  saved_tensor_hooks() = default;
  saved_tensor_hooks(const saved_tensor_hooks&) = delete;
  saved_tensor_hooks& operator=(const saved_tensor_hooks&) = delete;
  virtual ~saved_tensor_hooks() = default;

  /// After the last forward use. What it returns comes back in `unpack`, and in `forget` where the backward pass never
  /// came for it.
  virtual std::int64_t pack(offload_session& session, session_tensor tensor) = 0;
  virtual use_guard unpack(offload_session& session, session_tensor tensor, std::int64_t packed) = 0;
  virtual void forget(std::int64_t packed) noexcept = 0;
};

struct offload_hooks_options {
  int tier = 1;
  int look_ahead = 1;            ///< how many of those packed before are brought along
  std::int64_t least_bytes = 0;  ///< smaller tensors stay
};

class offload_hooks final : public saved_tensor_hooks {
 public:
  explicit offload_hooks(const offload_hooks_options& options = {}) : options_(options) {}

  std::int64_t pack(offload_session& session, session_tensor tensor) override;

  use_guard unpack(offload_session& session, session_tensor tensor, std::int64_t packed) override;

  void forget(std::int64_t packed) noexcept override;

 private:
  struct entry {
    offload_session* session;
    session_tensor tensor;
    std::int64_t number;
  };

  offload_hooks_options options_;
  std::int64_t next_ = 0;
  std::vector<entry> packed_;  ///< in the order of packing
};

namespace detail {

std::shared_ptr<saved_tensor_hooks>& current_hooks();

}  // namespace detail

/// While it lives, tensors that this thread saves go through `hooks`; through none where that is null. Scopes nest.
class saved_tensors_scope {
 public:
  explicit saved_tensors_scope(std::shared_ptr<saved_tensor_hooks> hooks);
  saved_tensors_scope(const saved_tensors_scope&) = delete;
  saved_tensors_scope& operator=(const saved_tensors_scope&) = delete;
  ~saved_tensors_scope() { detail::current_hooks() = std::move(former_); }

 private:
  std::shared_ptr<saved_tensor_hooks> former_;
};

/// A tensor saved for the backward pass, with the hooks that it was packed by. Ends before its session.
class packed_tensor {
 public:
  packed_tensor() = default;
  packed_tensor(packed_tensor&& other) noexcept { swap(other); }
  packed_tensor& operator=(packed_tensor&& other) noexcept {
    packed_tensor gone(std::move(other));
    swap(gone);
    return *this;
  }
  ~packed_tensor() {
    if (session_ != nullptr && hooks_ != nullptr) hooks_->forget(number_);
  }

  session_tensor tensor() const { return tensor_; }

  /// Brings the tensor back and gives read access to it. Throws session_error the second time.
  use_guard unpack();

 private:
  friend packed_tensor save_for_backward(offload_session& session, session_tensor tensor);

  void swap(packed_tensor& other) noexcept;

  std::shared_ptr<saved_tensor_hooks> hooks_;
  offload_session* session_ = nullptr;  ///< null once unpacked
  session_tensor tensor_;
  std::int64_t number_ = -1;
  std::string name_;
  std::int64_t bytes_ = -1;
};

/// Saves a tensor whose last forward use is over, through the hooks of the scope at hand.
packed_tensor save_for_backward(offload_session& session, session_tensor tensor);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/tiers/saved_tensors.ipp>
#endif
