// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program of dtensors keeps for its gradient, in a session of memory tiers, through the hooks on saved tensors
// (tiers/saved_tensors.hpp).
//
//   hp::offload_session session({{"hbm", 64 * hp::MiB}, {"dram", hp::GiB}});
//   const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
//   const hp::keep_in_session scope(session);
//   const auto [loss, gradients] = hp::value_and_gradient(program, w);    // what is kept leaves hbm, and comes back
//
// Laws: a tensor that several operators keep is kept once; all blocks of a tensor move together; the session gives it up
// when all that kept it have it back, or are gone. Arguments of the program, which the caller holds, are not put away.
// The tensor's own memory is free when the program holds it no more.

#include <memory>

#include <hyperparallel/dtensor/kept_dtensor.hpp>
#include <hyperparallel/tiers/saved_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// While it lives, programs that this thread runs keep their tensors in the session. Ends after them, before it. They
/// throw session_error, tier_error where the session has no room.
class keep_in_session {
 public:
  explicit keep_in_session(offload_session& session);

 private:
  std::unique_ptr<tensor_keeper> keeper_;
  keeper_scope scope_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/keep_in_session.ipp>
#endif
