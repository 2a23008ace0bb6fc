// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program of dtensors keeps for its gradient: as it is, or in a session of memory tiers, through the hooks on
// saved tensors (runtime/saved_tensors.hpp).
//
//   hp::offload_session session({{"hbm", 64 * hp::MiB}, {"dram", hp::GiB}});
//   const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
//   const hp::keep_in_session scope(session);
//   const auto [loss, gradients] = hp::value_and_gradient(program, w);    // what is kept leaves hbm, and comes back
//
// Laws: values and gradients are those without a session, bit for bit; a tensor that several operators keep is kept once;
// arguments of the program, which the caller holds, are not put away; all blocks of a tensor move together. The tensor's
// own memory is free when the program holds it no more. Scopes belong to the thread, and nest.

#include <memory>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/runtime/saved_tensors.hpp>

namespace hyperparallel::inline v0_2 {

/// While it lives, programs that this thread runs keep their tensors in the session. Ends after them, before it.
class keep_in_session {
 public:
  explicit keep_in_session(offload_session& session);
  keep_in_session(const keep_in_session&) = delete;
  keep_in_session& operator=(const keep_in_session&) = delete;
  ~keep_in_session();

 private:
  struct kept_tensors;
  friend class kept_dtensor;
  static kept_tensors*& current();

  std::unique_ptr<kept_tensors> kept_;
  kept_tensors* former_;
};

/// A tensor that is needed once more.
class kept_dtensor {
 public:
  /// Throws session_error, tier_error where the session has no room.
  explicit kept_dtensor(const dynamic_dtensor& x);
  /// The tensor, brought back where it was put away; the session gives it up when all that kept it have it back. At
  /// most once. Throws as the constructor.
  dynamic_dtensor value() const;

  struct stored;

 private:
  std::shared_ptr<const dynamic_dtensor> plain_;  ///< where it was not put away
  /// Of copies of this together.
  struct share;
  std::shared_ptr<share> share_;
};

}  // namespace hyperparallel::inline v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/kept_dtensor.ipp>
#endif
