// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory tiers used by hand: `prefetch`, `store` and `detach` on tensors of a session, asynchronous, with `wait`.
//
//   hp::offload_session s({{"hbm", 64 * hp::MiB}, {"dram", hp::GiB, {20 * hp::gigabyte}, {20 * hp::gigabyte}}});
//   const auto x = s.add("x", bytes);
//   { auto u = s.use(x, hp::tensor_access::overwrite); fill(u.as<float>()); }
//   s.store(x, 1);  s.detach(x);                        // returns at once; tier 0 is free when the copy is complete
//   s.prefetch(x);  … auto u = s.use(x);                // the use waits for the bytes
//
// Tier 0 is where kernels work; every other tier has a copy engine in each direction. What an operator means follows
// from the order of calls alone: after `store` the copy counts as valid, after `detach` the tensor is not resident,
// after `prefetch` it is, however far the bytes have come; so misuse is found every time or never. A write makes all
// other copies stale. Law: no operator gives up the last valid copy, nor bytes that a guard or a copy still needs.
// Room on tier 0 is found by waiting for tensors that are leaving, oldest first, then by giving up what was brought
// ahead on approval, last first, and by nothing else: what then does not fit is a tier_error that names the tensor. A
// copy that fails changes nothing: the next operator on its tensor says so. One thread at a time. Operators cost
// O(tiers + leaving tensors), plus the search of the free list.
//
// The folder tiers/: memory tiers by hand. The session, its tiers and their memory (session_tier.hpp, tier_memory.hpp), and
// hooks that keep tensors for a backward pass (saved_tensors.hpp). Programs under a budget are planned in offload/ and
// lowering/, and need none of this.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/tiers/session_tier.hpp>
#include <hyperparallel/tiers/tier_memory.hpp>
#include <hyperparallel/transfer/copy_engine.hpp>
#include <hyperparallel/transfer/session_error.hpp>
#include <hyperparallel/transfer/use_guard.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct session_options {
  tier_fit fit = tier_fit::best;
  copy_engine_options engine{};  ///< of every copy engine
};

/// A handle. It stays unknown to every session but its own, and to that after `remove`.
struct session_tensor {
  std::int64_t number = -1;
  friend constexpr bool operator==(const session_tensor&, const session_tensor&) = default;
};

class offload_session {
 public:
  /// Tier 0 first. Throws session_error for tiers that are none, tier_error for a capacity that cannot be had.
  explicit offload_session(const std::vector<session_tier>& tiers, const session_options& options = {});

  int tiers() const { return static_cast<int>(memory_.size()); }
  const tier_memory& memory(int tier) const { return memory_.at(static_cast<std::size_t>(tier)); }
  /// Copies from `tier` to tier 0, and the other way. Domain: 0 < tier < tiers().
  copy_statistics copies_in(int tier) const { return in_.at(static_cast<std::size_t>(tier))->statistics(); }
  copy_statistics copies_out(int tier) const { return out_.at(static_cast<std::size_t>(tier))->statistics(); }

  /// A new tensor without a value; it takes memory when it gets one.
  session_tensor add(const std::string& name, std::int64_t bytes);

  /// Gives up the tensor and all its copies.
  void remove(session_tensor t);

  /// Throws session_error when there is none.
  session_tensor find(const std::string& name) const;

  bool knows(session_tensor t) const { return tensor_.count(t.number) > 0; }
  const std::string& name_of(session_tensor t) { return known("name", t).name; }
  std::int64_t bytes_of(session_tensor t) { return known("size", t).bytes; }
  bool is_resident(session_tensor t) { return known("state", t).on[0].valid; }
  bool has_valid_copy(session_tensor t, int tier);

  /// Sets the value from outside, as its only copy, at no simulated cost.
  void load(session_tensor t, int tier, std::span<const std::byte> value);

  /// Starts a copy from tier 0 to `tier`. False when that tier's copy is valid already, so that nothing moves.
  bool store(session_tensor t, int tier);

  /// Starts a copy to tier 0, from `tier` or else from the first tier that has a valid copy. Takes room at once. False
  /// when nothing moves: the tensor was leaving tier 0 but is still there, or was brought ahead.
  bool prefetch(session_tensor t, int tier = -1);

  /// A prefetch on approval, for a use to come: the tensor is not resident until `prefetch` says so, which then moves
  /// nothing more, and the room is given up when anything else needs it. True when it began a copy, which it does only
  /// where there is free room and a value to bring.
  bool prefetch_ahead(session_tensor t);

  /// Gives up the copy on `tier`. Another tier must have a valid one, if only on its way: then tier 0 is free when that
  /// has come.
  void detach(session_tensor t, int tier = 0);

  /// Keeps the tensor on tier 0 and gives access to it, when its bytes have come. A write also waits for stores that
  /// still read, and makes their copies stale.
  use_guard use(session_tensor t, tensor_access access = tensor_access::read);

  /// Sleeps until no copy of the tensor is under way. Throws session_error when one has failed.
  void wait(session_tensor t);
  void wait_all() {
    for (auto& [number, r] : tensor_) wait({number});
  }

 private:
  using tensor = detail::offloaded_tensor;

  static std::int64_t next_number();
  static bool in_use(const tensor& r) { return r.written || r.readers > 0; }

  session_error refusal(session_code code, const char* operation, const tensor& r, int tier = -1,
                        const std::string& cause = {}) const;

  tensor& known(const char* operation, session_tensor t);
  /// Throws also when a copy of the tensor has failed.
  tensor& checked(const char* operation, session_tensor t);
  void complain(const char* operation, tensor& r);
  tensor::copy& at(tensor& r, const char* operation, int tier);

  /// Whether nothing is under way towards tier k any more. What has failed is undone.
  bool landed(tensor& r, int k, bool patiently);
  void arrive(const char* operation, tensor& r, int k);
  copy_engine& engine_towards(const tensor& r, int k) {
    return k == 0 ? *in_[static_cast<std::size_t>(r.source)] : *out_[static_cast<std::size_t>(k)];
  }

  void begin(tensor& r, copy_engine& engine, int from, int to);
  /// Ends a copy towards tier k, whose block then holds nothing.
  void stop(tensor& r, int k);

  void fetch(tensor& r, int tier);

  /// Finds a block on tier k unless there is one.
  void take(tensor& r, int k);
  void give(tensor& r, int k);
  void give_up_all(tensor& r);

  /// Makes a tensor that is leaving, or that was brought ahead, resident. False for others.
  bool stay(tensor& r);
  int first_valid(const tensor& r) const;
  /// Frees tier 0 of the tensors that have left.
  void release_left();

  std::vector<tier_memory> memory_;
  std::map<std::int64_t, tensor> tensor_;
  std::map<std::string, std::int64_t> number_;
  std::vector<tensor*> leaving_;                        ///< oldest first
  std::vector<tensor*> ahead_;                          ///< in the order of requests
  std::vector<std::unique_ptr<copy_engine>> in_, out_;  ///< by tier; last: their destruction ends all copies
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/tiers/offload_session.ipp>
#endif
