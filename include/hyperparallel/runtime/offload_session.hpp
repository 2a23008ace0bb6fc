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

#include <hyperparallel/runtime/copy_engine.hpp>
#include <hyperparallel/runtime/session_error.hpp>
#include <hyperparallel/runtime/session_tier.hpp>
#include <hyperparallel/runtime/tier_memory.hpp>
#include <hyperparallel/runtime/use_guard.hpp>

namespace hyperparallel {

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
  explicit offload_session(const std::vector<session_tier>& tiers, const session_options& options = {}) {
    if (tiers.empty()) throw session_error(session_code::there_is_no_tier, "session", {}, -1);
    const auto fits = [](const offload_link& r) { return r.bytes_per_second > 0 && r.latency >= 0; };
    for (std::size_t k = 0; k < tiers.size(); ++k) {
      const session_tier& t = tiers[k];
      if (k > 0 && !(fits(t.in) && fits(t.out)))
        throw session_error(session_code::tier_cannot_be_reached, "session", {}, -1, static_cast<int>(k), t.name);
      memory_.emplace_back(t.name, t.capacity, options.fit);
      in_.push_back(k == 0 ? nullptr : std::make_unique<copy_engine>(t.in, options.engine));
      out_.push_back(k == 0 ? nullptr : std::make_unique<copy_engine>(t.out, options.engine));
    }
  }

  int tiers() const { return static_cast<int>(memory_.size()); }
  const tier_memory& memory(int tier) const { return memory_.at(static_cast<std::size_t>(tier)); }
  /// Copies from `tier` to tier 0, and the other way. Domain: 0 < tier < tiers().
  copy_statistics copies_in(int tier) const { return in_.at(static_cast<std::size_t>(tier))->statistics(); }
  copy_statistics copies_out(int tier) const { return out_.at(static_cast<std::size_t>(tier))->statistics(); }

  /// A new tensor without a value; it takes memory when it gets one.
  session_tensor add(const std::string& name, std::int64_t bytes) {
    if (bytes < 0)
      throw session_error(session_code::size_is_negative, "add", name, -1, -1, {}, std::to_string(bytes) + " bytes");
    const auto [place, is_new] = number_.try_emplace(name, next_number());
    if (!is_new) throw session_error(session_code::name_is_taken, "add", name, bytes);
    tensor& r = tensor_[place->second];
    r.name = name;
    r.bytes = bytes;
    r.on.resize(memory_.size());
    return {place->second};
  }

  /// Gives up the tensor and all its copies.
  void remove(session_tensor t) {
    tensor& r = known("remove", t);
    if (in_use(r)) throw refusal(session_code::tensor_is_in_use, "remove", r);
    give_up_all(r);
    number_.erase(r.name);
    tensor_.erase(t.number);
  }

  /// Throws session_error when there is none.
  session_tensor find(const std::string& name) const {
    const auto found = number_.find(name);
    if (found == number_.end()) throw session_error(session_code::tensor_is_unknown, "find", name, -1);
    return {found->second};
  }

  bool knows(session_tensor t) const { return tensor_.count(t.number) > 0; }
  const std::string& name_of(session_tensor t) { return known("name", t).name; }
  std::int64_t bytes_of(session_tensor t) { return known("size", t).bytes; }
  bool is_resident(session_tensor t) { return known("state", t).on[0].valid; }
  bool has_valid_copy(session_tensor t, int tier) {
    tensor& r = known("state", t);
    return at(r, "state", tier).valid;
  }

  /// Sets the value from outside, as its only copy, at no simulated cost.
  void load(session_tensor t, int tier, std::span<const std::byte> value) {
    tensor& r = known("load", t);
    at(r, "load", tier);
    if (static_cast<std::int64_t>(value.size()) != r.bytes)
      throw refusal(session_code::size_differs, "load", r, tier, std::to_string(value.size()) + " bytes given");
    if (in_use(r)) throw refusal(session_code::tensor_is_in_use, "load", r, 0);
    give_up_all(r);
    take(r, tier);
    if (!value.empty()) std::memcpy(at(r, "load", tier).address, value.data(), value.size());
    at(r, "load", tier).valid = true;
  }

  /// Starts a copy from tier 0 to `tier`. False when that tier's copy is valid already, so that nothing moves.
  bool store(session_tensor t, int tier) {
    tensor& r = checked("store", t);
    tensor::copy& c = at(r, "store", tier);
    if (tier == 0) throw refusal(session_code::tier_is_where_kernels_work, "store", r, 0);
    if (!r.on[0].valid) throw refusal(session_code::tensor_is_not_resident, "store", r, 0);
    if (r.written) throw refusal(session_code::tensor_is_in_use, "store", r, 0);
    if (c.valid) return false;
    arrive("store", r, 0);
    begin(r, *out_[static_cast<std::size_t>(tier)], 0, tier);
    return true;
  }

  /// Starts a copy to tier 0, from `tier` or else from the first tier that has a valid copy. Takes room at once. False
  /// when nothing moves: the tensor was leaving tier 0 but is still there, or was brought ahead.
  bool prefetch(session_tensor t, int tier = -1) {
    release_left();
    tensor& r = checked("prefetch", t);
    if (tier == 0) throw refusal(session_code::tier_is_where_kernels_work, "prefetch", r, 0);
    if (tier != -1 && !at(r, "prefetch", tier).valid)
      throw refusal(session_code::tier_has_no_valid_copy, "prefetch", r, tier);
    if (r.on[0].valid) throw refusal(session_code::tensor_is_resident, "prefetch", r, 0);
    if (stay(r)) return false;
    if (tier < 0) tier = first_valid(r);
    if (tier < 0) throw refusal(session_code::tensor_is_nowhere, "prefetch", r);
    fetch(r, tier);
    return true;
  }

  /// A prefetch on approval, for a use to come: the tensor is not resident until `prefetch` says so, which then moves
  /// nothing more, and the room is given up when anything else needs it. True when it began a copy, which it does only
  /// where there is free room and a value to bring.
  bool prefetch_ahead(session_tensor t) {
    release_left();
    tensor& r = checked("prefetch", t);
    const int tier = first_valid(r);
    if (r.on[0].held || tier < 0 || !memory_[0].fits(r.bytes)) return false;
    fetch(r, tier);
    r.on[0].valid = false;
    r.ahead = true;
    ahead_.push_back(&r);
    return true;
  }

  /// Gives up the copy on `tier`. Another tier must have a valid one, if only on its way: then tier 0 is free when that
  /// has come.
  void detach(session_tensor t, int tier = 0) {
    tensor& r = checked("detach", t);
    tensor::copy& c = at(r, "detach", tier);
    if (tier == 0 ? !c.valid : !c.held) throw refusal(session_code::tensor_is_not_resident, "detach", r, tier);
    if (tier == 0 && in_use(r)) throw refusal(session_code::tensor_is_in_use, "detach", r, 0);
    if (c.valid && std::none_of(r.on.begin(), r.on.end(), [&](const auto& o) { return &o != &c && o.valid; }))
      throw refusal(session_code::no_valid_copy_elsewhere, "detach", r, tier);
    if (tier == 0) {
      if (c.under_way) stop(r, 0);
      c.valid = false;
      r.leaving = true;
      leaving_.push_back(&r);
      release_left();
    } else {
      if (r.source == tier) arrive("detach", r, 0);
      stop(r, tier);
      give(r, tier);
    }
  }

  /// Keeps the tensor on tier 0 and gives access to it, when its bytes have come. A write also waits for stores that
  /// still read, and makes their copies stale.
  use_guard use(session_tensor t, tensor_access access = tensor_access::read) {
    tensor& r = checked("use", t);
    const bool reads = access == tensor_access::read;
    if (r.written || (!reads && r.readers > 0)) throw refusal(session_code::tensor_is_in_use, "use", r, 0);
    if (access == tensor_access::overwrite) {
      if (r.on[0].under_way) stop(r, 0);
      stay(r);
      take(r, 0);
      r.on[0].valid = true;
    } else {
      if (!r.on[0].valid) throw refusal(session_code::tensor_is_not_resident, "use", r, 0);
      arrive("use", r, 0);
    }
    for (int k = 1; k < tiers() && !reads; ++k) {
      landed(r, k, true);
      r.on[static_cast<std::size_t>(k)].valid = false;
      r.failure.clear();  // of a store whose copy would be stale
    }
    return use_guard(r, access);
  }

  /// Sleeps until no copy of the tensor is under way. Throws session_error when one has failed.
  void wait(session_tensor t) {
    tensor& r = known("wait", t);
    for (int k = 0; k < tiers(); ++k) arrive("wait", r, k);
    release_left();
  }
  void wait_all() {
    for (auto& [number, r] : tensor_) wait({number});
  }

 private:
  using tensor = detail::offloaded_tensor;

  static std::int64_t next_number() {
    static std::atomic<std::int64_t> numbers{0};
    return numbers.fetch_add(1, std::memory_order_relaxed);
  }
  static bool in_use(const tensor& r) { return r.written || r.readers > 0; }

  session_error refusal(session_code code, const char* operation, const tensor& r, int tier = -1,
                        const std::string& cause = {}) const {
    const bool is_tier = tier >= 0 && tier < tiers();
    return {code, operation, r.name, r.bytes, tier, is_tier ? memory(tier).name() : std::string(), cause};
  }

  tensor& known(const char* operation, session_tensor t) {
    const auto found = tensor_.find(t.number);
    if (found != tensor_.end()) return found->second;
    throw session_error(session_code::tensor_is_unknown, operation, "tensor " + std::to_string(t.number), -1);
  }
  /// Throws also when a copy of the tensor has failed.
  tensor& checked(const char* operation, session_tensor t) {
    tensor& r = known(operation, t);
    for (int k = 0; k < tiers(); ++k) landed(r, k, false);
    complain(operation, r);
    return r;
  }
  void complain(const char* operation, tensor& r) {
    if (r.failure.empty()) return;
    throw refusal(session_code::copy_failed, operation, r, -1, std::exchange(r.failure, {}));
  }
  tensor::copy& at(tensor& r, const char* operation, int tier) {
    if (tier < 0 || tier >= tiers()) throw refusal(session_code::tier_is_unknown, operation, r, tier);
    return r.on[static_cast<std::size_t>(tier)];
  }

  /// Whether nothing is under way towards tier k any more. What has failed is undone.
  bool landed(tensor& r, int k, bool patiently) {
    tensor::copy& c = r.on[static_cast<std::size_t>(k)];
    if (!c.under_way) return true;
    copy_engine& engine = engine_towards(r, k);
    const copy_state s = patiently ? engine.settle(c.under_way) : engine.state(c.under_way);
    if (!is_over(s)) return false;
    if (s == copy_state::failed) {
      r.failure = engine.failure(c.under_way).what();
      if (k == 0) stay(r);
      give(r, k);
      // A tensor that was leaving stays if this was its last copy.
      if (r.leaving && first_valid(r) < 0) stay(r);
    }
    c.under_way = {};
    return true;
  }
  void arrive(const char* operation, tensor& r, int k) {
    landed(r, k, true);
    complain(operation, r);
  }
  copy_engine& engine_towards(const tensor& r, int k) {
    return k == 0 ? *in_[static_cast<std::size_t>(r.source)] : *out_[static_cast<std::size_t>(k)];
  }

  void begin(tensor& r, copy_engine& engine, int from, int to) {
    tensor::copy& c = r.on[static_cast<std::size_t>(to)];
    take(r, to);
    try {
      c.under_way = engine.submit(r.name, c.address, r.on[static_cast<std::size_t>(from)].address, r.bytes);
    } catch (...) {
      give(r, to);
      throw;
    }
    c.valid = true;
  }
  /// Ends a copy towards tier k, whose block then holds nothing.
  void stop(tensor& r, int k) {
    tensor::copy& c = r.on[static_cast<std::size_t>(k)];
    if (c.under_way) engine_towards(r, k).cancel(c.under_way);
    c.under_way = {};
    c.valid = false;
  }

  void fetch(tensor& r, int tier) {
    r.source = tier;
    begin(r, *in_[static_cast<std::size_t>(tier)], tier, 0);
  }

  /// Finds a block on tier k unless there is one.
  void take(tensor& r, int k) {
    tensor::copy& c = r.on[static_cast<std::size_t>(k)];
    if (c.held) return;
    tier_memory& memory = memory_[static_cast<std::size_t>(k)];
    if (k == 0) release_left();
    while (k == 0 && !memory.fits(r.bytes) && !leaving_.empty()) {
      tensor& oldest = *leaving_.front();
      for (int other = 1; other < tiers(); ++other) landed(oldest, other, true);
      release_left();
    }
    while (k == 0 && !memory.fits(r.bytes) && !ahead_.empty()) {
      tensor& last = *ahead_.back();
      stop(last, 0);
      stay(last);
      give(last, 0);
    }
    c.address = memory.address(memory.allocate(r.name, r.bytes));
    c.held = true;
  }
  void give(tensor& r, int k) {
    tensor::copy& c = r.on[static_cast<std::size_t>(k)];
    if (c.held) memory_[static_cast<std::size_t>(k)].release(r.name);
    c.held = c.valid = false;
  }
  void give_up_all(tensor& r) {
    for (int k = 0; k < tiers(); ++k) stop(r, k);
    stay(r);
    for (int k = 0; k < tiers(); ++k) give(r, k);
    r.failure.clear();
  }

  /// Makes a tensor that is leaving, or that was brought ahead, resident. False for others.
  bool stay(tensor& r) {
    if (!r.leaving && !r.ahead) return false;
    std::vector<tensor*>& list = r.leaving ? leaving_ : ahead_;
    list.erase(std::find(list.begin(), list.end(), &r));
    r.leaving = r.ahead = false;
    return r.on[0].valid = true;
  }
  int first_valid(const tensor& r) const {
    for (int k = 1; k < tiers(); ++k)
      if (r.on[static_cast<std::size_t>(k)].valid) return k;
    return -1;
  }
  /// Frees tier 0 of the tensors that have left.
  void release_left() {
    for (std::size_t i = 0; i < leaving_.size();) {
      tensor& r = *leaving_[i];
      bool left = true;
      for (int k = 1; k < tiers(); ++k) left = landed(r, k, false) && left;
      if (left && r.leaving) {
        stay(r);
        give(r, 0);
      } else if (r.leaving) {
        ++i;
      }
    }
  }

  std::vector<tier_memory> memory_;
  std::map<std::int64_t, tensor> tensor_;
  std::map<std::string, std::int64_t> number_;
  std::vector<tensor*> leaving_;                        ///< oldest first
  std::vector<tensor*> ahead_;                          ///< in the order of requests
  std::vector<std::unique_ptr<copy_engine>> in_, out_;  ///< by tier; last: their destruction ends all copies
};

}  // namespace hyperparallel
