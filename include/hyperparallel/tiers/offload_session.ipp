// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of offload_session.hpp; see support/compiled.hpp.

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

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/tiers/offload_session.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY offload_session::offload_session(const std::vector<session_tier>& tiers,
                                                    const session_options& options) {
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

HYPERPARALLEL_BODY session_tensor offload_session::add(const std::string& name, std::int64_t bytes) {
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

HYPERPARALLEL_BODY void offload_session::remove(session_tensor t) {
  tensor& r = known("remove", t);
  if (in_use(r)) throw refusal(session_code::tensor_is_in_use, "remove", r);
  give_up_all(r);
  number_.erase(r.name);
  tensor_.erase(t.number);
}

HYPERPARALLEL_BODY session_tensor offload_session::find(const std::string& name) const {
  const auto found = number_.find(name);
  if (found == number_.end()) throw session_error(session_code::tensor_is_unknown, "find", name, -1);
  return {found->second};
}

HYPERPARALLEL_BODY bool offload_session::has_valid_copy(session_tensor t, int tier) {
  tensor& r = known("state", t);
  return at(r, "state", tier).valid;
}

HYPERPARALLEL_BODY void offload_session::load(session_tensor t, int tier, std::span<const std::byte> value) {
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

HYPERPARALLEL_BODY bool offload_session::store(session_tensor t, int tier) {
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

HYPERPARALLEL_BODY bool offload_session::prefetch(session_tensor t, int tier) {
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

HYPERPARALLEL_BODY bool offload_session::prefetch_ahead(session_tensor t) {
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

HYPERPARALLEL_BODY void offload_session::detach(session_tensor t, int tier) {
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

HYPERPARALLEL_BODY use_guard offload_session::use(session_tensor t, tensor_access access) {
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

HYPERPARALLEL_BODY void offload_session::wait(session_tensor t) {
  tensor& r = known("wait", t);
  for (int k = 0; k < tiers(); ++k) arrive("wait", r, k);
  release_left();
}

HYPERPARALLEL_BODY std::int64_t offload_session::next_number() {
  static std::atomic<std::int64_t> numbers{0};
  return numbers.fetch_add(1, std::memory_order_relaxed);
}

HYPERPARALLEL_BODY session_error offload_session::refusal(session_code code, const char* operation, const tensor& r,
                                                          int tier, const std::string& cause) const {
  const bool is_tier = tier >= 0 && tier < tiers();
  return {code, operation, r.name, r.bytes, tier, is_tier ? memory(tier).name() : std::string(), cause};
}

HYPERPARALLEL_BODY offload_session::tensor& offload_session::known(const char* operation, session_tensor t) {
  const auto found = tensor_.find(t.number);
  if (found != tensor_.end()) return found->second;
  throw session_error(session_code::tensor_is_unknown, operation, "tensor " + std::to_string(t.number), -1);
}

HYPERPARALLEL_BODY offload_session::tensor& offload_session::checked(const char* operation, session_tensor t) {
  tensor& r = known(operation, t);
  for (int k = 0; k < tiers(); ++k) landed(r, k, false);
  complain(operation, r);
  return r;
}

HYPERPARALLEL_BODY void offload_session::complain(const char* operation, tensor& r) {
  if (r.failure.empty()) return;
  throw refusal(session_code::copy_failed, operation, r, -1, std::exchange(r.failure, {}));
}

HYPERPARALLEL_BODY offload_session::tensor::copy& offload_session::at(tensor& r, const char* operation, int tier) {
  if (tier < 0 || tier >= tiers()) throw refusal(session_code::tier_is_unknown, operation, r, tier);
  return r.on[static_cast<std::size_t>(tier)];
}

HYPERPARALLEL_BODY bool offload_session::landed(tensor& r, int k, bool patiently) {
  tensor::copy& c = r.on[static_cast<std::size_t>(k)];
  if (!c.under_way) return true;
  copy_engine& engine = engine_towards(r, k);
  const copy_state s = patiently ? engine.settle(c.under_way) : engine.state(c.under_way);
  if (!detail::is_over(s)) return false;
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

HYPERPARALLEL_BODY void offload_session::arrive(const char* operation, tensor& r, int k) {
  landed(r, k, true);
  complain(operation, r);
}

HYPERPARALLEL_BODY void offload_session::begin(tensor& r, copy_engine& engine, int from, int to) {
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

HYPERPARALLEL_BODY void offload_session::stop(tensor& r, int k) {
  tensor::copy& c = r.on[static_cast<std::size_t>(k)];
  if (c.under_way) engine_towards(r, k).cancel(c.under_way);
  c.under_way = {};
  c.valid = false;
}

HYPERPARALLEL_BODY void offload_session::fetch(tensor& r, int tier) {
  r.source = tier;
  begin(r, *in_[static_cast<std::size_t>(tier)], tier, 0);
}

HYPERPARALLEL_BODY void offload_session::take(tensor& r, int k) {
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

HYPERPARALLEL_BODY void offload_session::give(tensor& r, int k) {
  tensor::copy& c = r.on[static_cast<std::size_t>(k)];
  if (c.held) memory_[static_cast<std::size_t>(k)].release(r.name);
  c.held = c.valid = false;
}

HYPERPARALLEL_BODY void offload_session::give_up_all(tensor& r) {
  for (int k = 0; k < tiers(); ++k) stop(r, k);
  stay(r);
  for (int k = 0; k < tiers(); ++k) give(r, k);
  r.failure.clear();
}

HYPERPARALLEL_BODY bool offload_session::stay(tensor& r) {
  if (!r.leaving && !r.ahead) return false;
  std::vector<tensor*>& list = r.leaving ? leaving_ : ahead_;
  list.erase(std::find(list.begin(), list.end(), &r));
  r.leaving = r.ahead = false;
  return r.on[0].valid = true;
}

HYPERPARALLEL_BODY int offload_session::first_valid(const tensor& r) const {
  for (int k = 1; k < tiers(); ++k)
    if (r.on[static_cast<std::size_t>(k)].valid) return k;
  return -1;
}

HYPERPARALLEL_BODY void offload_session::release_left() {
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

}}  // namespace hyperparallel::v0_2
