// SPDX-License-Identifier: Apache-2.0
//
// long_context [--layers N] [--sequence N] [--tokens N] [--budget 6M] [--bandwidth 4] …
//
// Decodes twice with the same model after the same prompt: with everything in HBM, then within a budget of HBM that the
// cache of keys and values does not fit. The exit status is 1 if a bit of a logit differs, if the budget is exceeded,
// or if the longest sequence that fits is another one than sizes tell.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>

#include "../command_line.hpp"
#include "decoder.hpp"
#include "kv_cache.hpp"
#include "options.hpp"

namespace {

using namespace long_context;
using command_line::whole;
using steady = std::chrono::steady_clock;

/// Copies of both directions.
hp::copy_statistics copies_of(const hp::offload_session& s) {
  hp::copy_statistics sum;
  if (s.tiers() == 1) return sum;
  for (const hp::copy_statistics& c : {s.copies_in(1), s.copies_out(1)}) {
    sum.bytes += c.bytes;
    sum.busy += c.busy;
    sum.waited += c.waited;
  }
  return sum;
}

struct decoding {
  std::vector<int> tokens;
  std::vector<float> logits;  ///< of all tokens
  std::int64_t high_water = 0;
  std::int64_t token_time = 0;        ///< mean, picoseconds
  std::int64_t bytes = 0;             ///< copied while decoding
  std::int64_t busy = 0, waited = 0;  ///< of copy engines while decoding
};

decoding decode(const options& o, const std::vector<hp::session_tier>& tiers, std::int64_t kept, std::int64_t window) {
  hp::offload_session session(tiers);
  kv_cache cache(session, o.layers, kept, window);
  decoder model(session, cache, o.layers, o.seed);
  constexpr std::uint64_t prompt = 1000;  // the stream of its tokens
  std::vector<int> part;
  for (std::int64_t p = 0; p < o.sequence; ++p) {
    part.push_back(static_cast<int>(hp::keyed_bits(o.seed, prompt, static_cast<std::uint64_t>(p)) % vocabulary));
    if (part.size() < chunk && p + 1 < o.sequence) continue;
    model.append(part);
    part.clear();
  }
  decoding d;
  const hp::copy_statistics before = copies_of(session);
  const auto begin = steady::now();
  for (std::int64_t n = 0; n < o.tokens; ++n) {
    const std::vector<float> logits = model.logits();
    const int token = static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    d.tokens.push_back(token);
    d.logits.insert(d.logits.end(), logits.begin(), logits.end());
    model.append({&token, 1});
  }
  d.token_time = std::chrono::nanoseconds(steady::now() - begin).count() * hp::nanosecond / o.tokens;
  const hp::copy_statistics after = copies_of(session);
  d.bytes = after.bytes - before.bytes;
  d.busy = after.busy - before.busy;
  d.waited = after.waited - before.waited;
  d.high_water = session.memory(0).high_water();
  return d;
}

/// What refuses a longer sequence than `longest` positions; empty where that is not what fits. Copies move no bytes
/// here, so that room alone is used.
std::string refusal_beyond(std::int64_t longest, const options& o, std::vector<hp::session_tier> tiers,
                           const budget_plan& p) {
  for (hp::session_tier& t : tiers) t.in = t.out = {};
  hp::session_options silent;
  silent.engine.driver = hp::copy_driver::caller;
  silent.engine.move = [](std::byte*, const std::byte*, std::int64_t) {};
  hp::offload_session session(tiers, silent);
  kv_cache cache(session, o.layers, tiers.size() == 1 ? p.blocks : p.kept, p.window);
  session.use(session.add("weights and activations", fixed_bytes(o.layers)), hp::tensor_access::overwrite);
  std::int64_t blocks = 0;
  try {
    for (; blocks <= longest / block_positions; ++blocks)
      for (int l = 0; l < o.layers; ++l) {
        cache.open(l);
        cache.close(l, block_positions);
        cache.leave(l, blocks);
      }
  } catch (const hp::tier_error& e) {
    if (blocks == longest / block_positions && e.code == hp::tier_code::capacity_exceeded) return e.what();
  }
  return {};
}

std::string bytes_text(std::int64_t bytes) { return hp::report::to_text(hp::report::byte_count{bytes}); }

std::string share_text(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : hp::report::to_text(hp::report::percent{part * 10000 / whole});
}

int run(const options& o) {
  const budget_plan p = checked_plan(o);
  const std::int64_t blocks = o.layers * blocks_for(o.positions());
  const hp::session_tier hbm{"hbm", o.budget}, slower{"slower", o.capacity, o.link(), o.link()};
  const hp::session_tier enough{"hbm", fixed_bytes(o.layers) + blocks * block_bytes};

  std::printf("%d layers, %lld + %lld positions: %lld blocks of %s, %s of cache\n", o.layers,
              static_cast<long long>(o.sequence), static_cast<long long>(o.tokens), static_cast<long long>(blocks),
              bytes_text(block_bytes).c_str(), bytes_text(blocks * block_bytes).c_str());
  std::printf(
      "budget %s: %s of weights, %s of activations, %lld blocks: %lld kept, %d being written, %lld take turns\n",
      bytes_text(o.budget).c_str(), bytes_text(weight_bytes(o.layers)).c_str(),
      bytes_text(fixed_bytes(o.layers) - weight_bytes(o.layers)).c_str(), static_cast<long long>(p.blocks),
      static_cast<long long>(p.kept), o.layers, static_cast<long long>(p.window));
  std::printf("behind it %s at %g GB/s and %g us\n\n", bytes_text(o.capacity).c_str(), o.bandwidth, o.latency);
  std::fflush(stdout);

  const decoding whole = decode(o, {enough}, blocks, 1), within = decode(o, {hbm, slower}, p.kept, p.window);
  const std::string beyond_alone = refusal_beyond(p.longest_alone, o, {hbm}, p);
  const std::string beyond_offloaded = refusal_beyond(p.longest_offloaded, o, {hbm, slower}, p);

  hp::report::table t({"", "all in HBM", "offload"});
  const auto row = [&](const char* what, const std::string& a, const std::string& b) { t.row({what, a, b}); };
  row("HBM high water", bytes_text(whole.high_water), bytes_text(within.high_water));
  row("of the budget", share_text(whole.high_water, o.budget), share_text(within.high_water, o.budget));
  row("time a token", hp::report::to_text(hp::report::duration{whole.token_time}),
      hp::report::to_text(hp::report::duration{within.token_time}));
  row("copied a token", "-", bytes_text(within.bytes / o.tokens));
  row("copy time a token", "-", hp::report::to_text(hp::report::duration{within.busy / o.tokens}));
  row("of that hidden", "-", share_text(std::max(within.busy - within.waited, std::int64_t{0}), within.busy));
  row("longest in the budget", std::to_string(p.longest_alone), std::to_string(p.longest_offloaded));
  std::fputs(t.text().c_str(), stdout);

  const bool same_tokens = whole.tokens == within.tokens;
  const bool same_logits =
      whole.logits.size() == within.logits.size() &&
      std::memcmp(whole.logits.data(), within.logits.data(), whole.logits.size() * sizeof(float)) == 0;
  const bool in_budget = within.high_water <= o.budget;
  const auto verified = [](const std::string& refusal) {
    return refusal.empty() ? "is NOT what is refused" : refusal.c_str();
  };
  std::printf("\n%zu tokens decoded: tokens %s, logits %s, the budget is %s\n", within.tokens.size(),
              same_tokens ? "equal" : "DIFFERENT", same_logits ? "equal bit for bit" : "DIFFERENT",
              in_budget ? "kept" : "EXCEEDED");
  std::printf("one block more: %s\none block more with offload: %s\n", verified(beyond_alone),
              verified(beyond_offloaded));
  return same_tokens && same_logits && in_budget && !beyond_alone.empty() && !beyond_offloaded.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  constexpr std::int64_t most_bytes = 64 * hp::GiB;
  command_line::program app("Decodes with a cache of keys and values that is larger than its budget of HBM.",
                            "long_context");
  app.add_option("--layers", o.layers, "(default: 4)").check(whole(1, 128));
  app.add_option("--sequence", o.sequence, "positions of the prompt (default: 4096)").check(whole(1, 1 << 24));
  app.add_option("--tokens", o.tokens, "to decode (default: 32)").check(whole(1, 1 << 20));
  app.add_option("--budget", o.budget, "of HBM, in bytes, or 6M (default)").check(command_line::bytes(most_bytes));
  app.add_option("--capacity", o.capacity, "of the slower tier, in bytes, or 64M (default)")
      .check(command_line::bytes(most_bytes));
  app.add_option("--bandwidth", o.bandwidth, "of either direction between the tiers, in GB/s (default: 4)")
      .check(command_line::number(1e-3, 1e6));
  app.add_option("--latency", o.latency, "of a copy, in us (default: 10)").check(command_line::number(0, 1e6));
  app.add_option("--seed", o.seed, "of weights and prompt (default: 1)").check(command_line::seed());
  return command_line::run(app, argc, argv, [&] {
    try {
      checked_plan(o);
    } catch (const std::invalid_argument& e) {
      throw command_line::bad_arguments(e.what());
    }
    return run(o);
  });
}
