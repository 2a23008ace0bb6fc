// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program of dtensors keeps between forward and backward: as it is, or with a keeper that the caller chooses, such
// as a session of memory tiers (keep_in_session.hpp).
//
// Law: values and gradients are those without a keeper, bit for bit. Keepers belong to the thread, and nest.

#include <memory>
#include <utility>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A tensor that a keeper has.
class kept_tensor {
 public:
  kept_tensor() = default;
  kept_tensor(const kept_tensor&) = delete;
  kept_tensor& operator=(const kept_tensor&) = delete;
  virtual ~kept_tensor() = default;
  /// Gives it back. Domain: once.
  virtual dynamic_dtensor take() = 0;
};

/// Where tensors are kept.
class tensor_keeper {
 public:
  tensor_keeper() = default;
  tensor_keeper(const tensor_keeper&) = delete;
  tensor_keeper& operator=(const tensor_keeper&) = delete;
  virtual ~tensor_keeper() = default;
  virtual std::shared_ptr<kept_tensor> keep(const dynamic_dtensor& x) = 0;

  /// The thread's, or null.
  static tensor_keeper*& current() {
    static thread_local tensor_keeper* now = nullptr;
    return now;
  }
};

/// While it lives, programs that this thread runs keep their tensors with `keeper`.
class keeper_scope {
 public:
  explicit keeper_scope(tensor_keeper& keeper) : former_(std::exchange(tensor_keeper::current(), &keeper)) {}
  keeper_scope(const keeper_scope&) = delete;
  keeper_scope& operator=(const keeper_scope&) = delete;
  ~keeper_scope() { tensor_keeper::current() = former_; }

 private:
  tensor_keeper* former_;
};

namespace detail {

/// A tensor that is needed once more. Throws what the keeper throws.
class kept_dtensor {
 public:
  explicit kept_dtensor(const dynamic_dtensor& x) {
    if (tensor_keeper* const keeper = tensor_keeper::current(); keeper != nullptr)
      kept_ = keeper->keep(x);
    else
      plain_ = std::make_shared<const dynamic_dtensor>(x);
  }
  /// The tensor. At most once.
  dynamic_dtensor value() const { return plain_ != nullptr ? *plain_ : kept_->take(); }

 private:
  std::shared_ptr<const dynamic_dtensor> plain_;
  std::shared_ptr<kept_tensor> kept_;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
