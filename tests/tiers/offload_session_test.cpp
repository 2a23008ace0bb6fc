// SPDX-License-Identifier: Apache-2.0
// Any sequence of operators against a model that knows values and nothing of memory or time; then samples.

#include <hyperparallel/tiers/offload_session.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
using hp::session_code;
using hp::tensor_access;

hp::session_options driven_by(hp::copy_driver driver) {
  hp::session_options o;
  o.engine.driver = driver;
  o.engine.spin = 5 * hp::microsecond;
  return o;
}

/// What a tensor is to somebody who sees calls only.
struct tensor_model {
  int bytes = 0;
  unsigned value = 0;
  std::vector<bool> valid, held;
  std::vector<hp::use_guard> guards;
  bool written = false;

  bool elsewhere(int tier) const {
    for (int k = 0; k < static_cast<int>(valid.size()); ++k)
      if (k != tier && valid[static_cast<std::size_t>(k)]) return true;
    return false;
  }
};

unsigned char element_of(unsigned value, std::size_t i) {
  return static_cast<unsigned char>(value * 31 + i * 7 + (i >> 8));
}

/// The code of what `call` throws; nothing where it throws nothing. `full` tells of a tier_error.
template <class Call>
std::optional<session_code> code_of(const Call& call, bool& full) {
  full = false;
  try {
    call();
  } catch (const hp::session_error& e) {
    return e.code;
  } catch (const hp::tier_error& e) {
    EXPECT_FALSE(e.tensor.empty());
    full = true;
  }
  return {};
}

void run_randomly(unsigned seed, hp::copy_driver driver, std::int64_t capacity) {
  std::mt19937 random(seed);
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr int tiers = 3, steps = 250;
  // The longer copies are under way, the more goes on meanwhile: a driving caller moves the bytes as late as it may.
  const std::int64_t latencies[] = {0, 5 * hp::microsecond, 200 * hp::microsecond, 400 * hp::microsecond};
  const hp::offload_link rate{upto(2) == 0 ? 2 * hp::gigabyte : hp::unlimited_bandwidth, latencies[upto(4)]};
  hp::session_options options = driven_by(driver);
  // Engines with threads get out of step, so that nothing is in order by accident.
  std::atomic<unsigned> chunks{seed};
  if (driver == hp::copy_driver::thread)
    options.engine.move = [&chunks](std::byte* to, const std::byte* from, std::int64_t n) {
      if (chunks++ % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      std::memcpy(to, from, static_cast<std::size_t>(n));
    };
  hp::offload_session session({{"hbm", capacity}, {"dram", 1 << 14, rate, rate}, {"pool", capacity, rate, {}}},
                              options);
  std::map<std::int64_t, tensor_model> model;
  const bool looks_ahead = upto(2) == 0;
  using expected = std::optional<session_code>;
  for (int step = 0; step < steps; ++step) {
    if (model.empty() || (model.size() < 5 && upto(6) == 0)) {
      tensor_model m;
      m.bytes = upto(1500);
      m.valid.assign(tiers, false);
      m.held.assign(tiers, false);
      model.emplace(session.add("t" + std::to_string(step), m.bytes).number, std::move(m));
    }
    const auto chosen = std::next(model.begin(), upto(static_cast<int>(model.size())));
    const hp::session_tensor t{chosen->first};
    tensor_model& m = chosen->second;
    const bool in_use = !m.guards.empty(), nowhere = !m.elsewhere(-1);
    const int tier = upto(tiers + 1) - (upto(10) == 0 ? 1 : 0);
    const bool is_tier = tier >= 0 && tier < tiers;
    const auto k = static_cast<std::size_t>(is_tier ? tier : 0);
    bool full = false;
    expected code, right;
    switch (upto(looks_ahead ? 10 : 9)) {
      case 0: {  // write
        const bool overwrites = upto(2) == 0;
        hp::use_guard u;
        code =
            code_of([&] { u = session.use(t, overwrites ? tensor_access::overwrite : tensor_access::update); }, full);
        right = in_use                     ? expected(session_code::tensor_is_in_use)
                : overwrites || m.valid[0] ? expected()
                                           : session_code::tensor_is_not_resident;
        if (right || full) break;
        m.value = static_cast<unsigned>(random());
        const auto bytes = u.as<unsigned char>();
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = element_of(m.value, i);
        m.valid.assign(tiers, false);
        m.valid[0] = true;
        m.held[0] = true;
        m.written = upto(3) == 0;
        if (m.written) m.guards.push_back(std::move(u));
        break;
      }
      case 1: {  // read
        hp::use_guard u;
        code = code_of([&] { u = session.use(t); }, full);
        right = m.written    ? expected(session_code::tensor_is_in_use)
                : m.valid[0] ? expected()
                             : session_code::tensor_is_not_resident;
        if (right) break;
        const auto bytes = u.as<const unsigned char>();
        for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], element_of(m.value, i));
        if (upto(3) == 0) m.guards.push_back(std::move(u));
        break;
      }
      case 2:
      case 3: {  // store
        bool moves = false;
        code = code_of([&] { moves = session.store(t, tier); }, full);
        right = !is_tier      ? expected(session_code::tier_is_unknown)
                : tier == 0   ? session_code::tier_is_where_kernels_work
                : !m.valid[0] ? session_code::tensor_is_not_resident
                : m.written   ? session_code::tensor_is_in_use
                              : expected();
        if (right || full) break;
        EXPECT_EQ(moves, !m.valid[k]);
        m.valid[k] = m.held[k] = true;
        break;
      }
      case 4: {  // prefetch
        code = code_of([&] { session.prefetch(t, tier); }, full);
        right = tier == 0                   ? expected(session_code::tier_is_where_kernels_work)
                : tier != -1 && !is_tier    ? session_code::tier_is_unknown
                : tier != -1 && !m.valid[k] ? session_code::tier_has_no_valid_copy
                : m.valid[0]                ? session_code::tensor_is_resident
                : nowhere                   ? session_code::tensor_is_nowhere
                                            : expected();
        if (!right && !full) m.valid[0] = m.held[0] = true;
        break;
      }
      case 5:
      case 6: {  // detach
        code = code_of([&] { session.detach(t, tier); }, full);
        right = !is_tier                                ? expected(session_code::tier_is_unknown)
                : !(tier == 0 ? m.valid[0] : m.held[k]) ? session_code::tensor_is_not_resident
                : tier == 0 && in_use                   ? session_code::tensor_is_in_use
                : m.valid[k] && !m.elsewhere(tier)      ? session_code::no_valid_copy_elsewhere
                                                        : expected();
        if (!right) m.valid[k] = m.held[k] = false;
        break;
      }
      case 7:  // end of uses
        m.guards.clear();
        m.written = false;
        break;
      case 9:
        session.prefetch_ahead(t);
        break;
      default: {  // wait, load or remove
        if (const int which = upto(3); which == 0) {
          session.wait(t);
        } else if (which == 1) {
          std::vector<std::byte> value(static_cast<std::size_t>(m.bytes));
          const auto fresh = static_cast<unsigned>(random());
          for (std::size_t i = 0; i < value.size(); ++i) value[i] = std::byte{element_of(fresh, i)};
          code = code_of([&] { session.load(t, tier, value); }, full);
          right = !is_tier ? expected(session_code::tier_is_unknown)
                  : in_use ? session_code::tensor_is_in_use
                           : expected();
          if (right) break;
          m.value = fresh;
          m.valid.assign(tiers, false);
          m.valid[k] = !full;
          m.held = m.valid;
        } else {
          code = code_of([&] { session.remove(t); }, full);
          if (in_use) right = session_code::tensor_is_in_use;
          if (!in_use) model.erase(chosen);
        }
      }
    }
    ASSERT_EQ(code, right) << "seed " << seed << ", step " << step;
    std::vector<std::int64_t> used(tiers, 0);
    for (auto& [number, x] : model)
      for (int j = 0; j < tiers; ++j) {
        ASSERT_EQ(session.has_valid_copy({number}, j), x.valid[static_cast<std::size_t>(j)]);
        if (x.held[static_cast<std::size_t>(j)]) used[static_cast<std::size_t>(j)] += (x.bytes + 63) / 64 * 64;
      }
    if (step % 16 == 0) {
      session.wait_all();
      for (auto& [number, x] : model)
        for (int j = 0; j < tiers; ++j) {
          if (!x.valid[static_cast<std::size_t>(j)]) continue;
          const std::byte* const first = session.memory(j).address(session.name_of({number}));
          for (std::size_t i = 0; i < static_cast<std::size_t>(x.bytes); ++i)
            ASSERT_EQ(first[i], std::byte{element_of(x.value, i)}) << "seed " << seed << ", step " << step;
        }
    }
    for (int j = 0; j < tiers; ++j) {
      if (j > 0 || (step % 16 == 0 && !looks_ahead))
        ASSERT_EQ(session.memory(j).bytes_used(), used[static_cast<std::size_t>(j)]) << "tier " << j;
      else
        ASSERT_GE(session.memory(j).bytes_used(), used[0]);
      ASSERT_LE(session.memory(j).high_water(), session.memory(j).capacity());
    }
  }
}

TEST(OffloadSession, MeansTheSameWhateverTheTimeAndTheMemory) {
  const int seeds = tested::tries(40, 2000);
  for (int seed = 0; seed < seeds && !HasFatalFailure(); ++seed)
    run_randomly(static_cast<unsigned>(seed), seed % 2 == 0 ? hp::copy_driver::thread : hp::copy_driver::caller,
                 seed % 3 == 0 ? 1 << 20 : 6 * 1024);
}

struct OffloadSessionCase : ::testing::TestWithParam<hp::copy_driver> {
  static constexpr std::int64_t kilo = 1024;
  const hp::offload_link slow{hp::unlimited_bandwidth, hp::millisecond};
  const hp::offload_link never{hp::unlimited_bandwidth, 1000 * hp::second};
  hp::offload_session session{{{"hbm", 2 * kilo}, {"dram", 8 * kilo, slow, slow}}, driven_by(GetParam())};

  hp::session_tensor filled(const std::string& name, float value) {
    const hp::session_tensor t = session.add(name, kilo);
    const hp::use_guard u = session.use(t, tensor_access::overwrite);
    for (float& x : u.as<float>()) x = value;
    return t;
  }
  float first(hp::session_tensor t) { return session.use(t).as<const float>()[0]; }
  template <class Call>
  std::string refusal(const Call& call) {
    return tested::error_of<hp::session_error>(call);
  }
};

INSTANTIATE_TEST_SUITE_P(Drivers, OffloadSessionCase,
                         ::testing::Values(hp::copy_driver::thread, hp::copy_driver::caller),
                         [](const auto& p) { return p.param == hp::copy_driver::thread ? "Thread" : "Caller"; });

TEST_P(OffloadSessionCase, ThreeTensorsTakeTurnsInRoomForTwo) {
  std::vector<hp::session_tensor> x;
  for (int i = 0; i < 3; ++i) {
    x.push_back(filled("x" + std::to_string(i), static_cast<float>(i)));  // the third waits until the first has left
    session.store(x.back(), 1);
    session.detach(x.back());
    EXPECT_FALSE(session.is_resident(x.back()));
  }
  session.wait_all();
  EXPECT_EQ(session.memory(0).bytes_used(), 0);
  EXPECT_EQ(session.memory(0).high_water(), 2 * kilo);
  EXPECT_EQ(session.memory(1).bytes_used(), 3 * kilo);
  for (int i = 2; i >= 0; --i) {
    EXPECT_TRUE(session.prefetch(x[static_cast<std::size_t>(i)]));
    EXPECT_EQ(first(x[static_cast<std::size_t>(i)]), static_cast<float>(i));
    session.detach(x[static_cast<std::size_t>(i)]);  // clean: no store, and free at once
    EXPECT_EQ(session.memory(0).bytes_used(), 0);
  }
  EXPECT_EQ(session.copies_out(1).copies, 3);
  EXPECT_EQ(session.copies_in(1).bytes, 3 * kilo);
}

TEST_P(OffloadSessionCase, APrefetchOfWhatIsStillLeavingMovesNothing) {
  hp::offload_session s({{"hbm", kilo}, {"dram", kilo, never, never}}, driven_by(GetParam()));
  const hp::session_tensor x = s.add("x", kilo);
  s.use(x, tensor_access::overwrite).as<float>()[0] = 4;
  s.store(x, 1);
  s.detach(x);
  EXPECT_EQ(s.memory(0).bytes_used(), kilo);  // the store reads it
  EXPECT_FALSE(s.prefetch(x));
  EXPECT_EQ(s.use(x).as<const float>()[0], 4);
  EXPECT_TRUE(s.has_valid_copy(x, 1));
}

TEST_P(OffloadSessionCase, AWriteMakesCopiesStaleAndACleanCopyNeedsNoStore) {
  const hp::session_tensor x = filled("x", 1);
  EXPECT_TRUE(session.store(x, 1));
  EXPECT_FALSE(session.store(x, 1));
  session.use(x, tensor_access::update).as<float>()[0] = 2;
  EXPECT_FALSE(session.has_valid_copy(x, 1));
  EXPECT_EQ(refusal([&] { session.detach(x); }),
            "detach of x (1024 bytes), tier 0 (hbm): no other tier has a valid copy");
  EXPECT_TRUE(session.store(x, 1));
  session.detach(x);
  session.wait(x);
  session.prefetch(x);
  EXPECT_EQ(first(x), 2);
  EXPECT_EQ(session.memory(1).bytes_used(), kilo);
}

TEST_P(OffloadSessionCase, AnOverwriteNeedsNoFetch) {
  const hp::session_tensor x = filled("x", 1);
  session.store(x, 1);
  session.detach(x);
  session.wait(x);
  session.use(x, tensor_access::overwrite).as<float>()[0] = 3;
  EXPECT_EQ(first(x), 3);
  EXPECT_EQ(session.copies_in(1).copies, 0);
}

TEST_P(OffloadSessionCase, MisuseIsNamed) {
  const hp::session_tensor x = filled("x", 1), nowhere = session.add("n", 8);
  EXPECT_EQ(refusal([&] { session.store(x, 0); }),
            "store of x (1024 bytes), tier 0 (hbm): tier 0 is where kernels work, not where tensors are put away");
  EXPECT_EQ(refusal([&] { session.store(x, 2); }), "store of x (1024 bytes), tier 2: the session has no such tier");
  EXPECT_EQ(refusal([&] { session.detach(x); }),
            "detach of x (1024 bytes), tier 0 (hbm): no other tier has a valid copy");
  EXPECT_EQ(refusal([&] { session.prefetch(x); }),
            "prefetch of x (1024 bytes), tier 0 (hbm): the tensor is resident already");
  EXPECT_EQ(refusal([&] { session.prefetch(x, 1); }),
            "prefetch of x (1024 bytes), tier 1 (dram): the tier has no valid copy");
  EXPECT_EQ(refusal([&] { session.prefetch(nowhere); }),
            "prefetch of n (8 bytes): the tensor has no value on any tier");
  EXPECT_EQ(refusal([&] { session.use(nowhere); }), "use of n (8 bytes), tier 0 (hbm): the tensor is not resident");
  EXPECT_EQ(refusal([&] { session.store(nowhere, 1); }),
            "store of n (8 bytes), tier 0 (hbm): the tensor is not resident");
  session.store(x, 1);
  {
    const hp::use_guard u = session.use(x);
    EXPECT_EQ(refusal([&] { session.detach(x); }), "detach of x (1024 bytes), tier 0 (hbm): the tensor is in use");
    EXPECT_EQ(refusal([&] { session.remove(x); }), "remove of x (1024 bytes): the tensor is in use");
  }
  session.detach(x);
  EXPECT_EQ(refusal([&] { session.use(x); }), "use of x (1024 bytes), tier 0 (hbm): the tensor is not resident");
  EXPECT_EQ(refusal([&] { session.detach(x); }), "detach of x (1024 bytes), tier 0 (hbm): the tensor is not resident");
  EXPECT_EQ(refusal([&] { session.detach(x, 1); }),
            "detach of x (1024 bytes), tier 1 (dram): no other tier has a valid copy");
  EXPECT_EQ(refusal([&] { session.add("x", 1); }), "add of x (1 bytes): another tensor has this name");
  EXPECT_EQ(refusal([&] { session.add("y", -1); }), "add of y: the size is negative: -1 bytes");
  EXPECT_EQ(refusal([&] { session.load(nowhere, 1, {}); }),
            "load of n (8 bytes), tier 1 (dram): the value has another size: 0 bytes given");
  EXPECT_EQ(session.find("x"), x);
  session.remove(x);
  EXPECT_EQ(refusal([&] { session.find("x"); }), "find of x: the session has no such tensor");
  EXPECT_EQ(refusal([&] { session.wait(x); }),
            "wait of tensor " + std::to_string(x.number) + ": the session has no such tensor");
  hp::offload_session other({{"hbm", 1024}});
  EXPECT_EQ(refusal([&] { other.use(nowhere); }),
            "use of tensor " + std::to_string(nowhere.number) + ": the session has no such tensor");
}

TEST_P(OffloadSessionCase, WhatDoesNotFitIsAnErrorThatNamesTheTensor) {
  filled("a", 1);
  filled("b", 1);
  const hp::session_tensor c = session.add("c", kilo);
  EXPECT_EQ(tested::error_of<hp::tier_error>([&] { session.use(c, tensor_access::overwrite); }),
            "tier hbm, tensor c: the capacity is exceeded: 1024 bytes asked, 0 bytes free, 0 in one piece");
  const hp::session_tensor big = session.add("big", 9 * kilo);
  const std::vector<std::byte> value(9 * kilo);
  EXPECT_EQ(tested::error_of<hp::tier_error>([&] { session.load(big, 1, value); }),
            "tier dram, tensor big: the capacity is exceeded: 9216 bytes asked, 8192 bytes free, 8192 in one piece");
  EXPECT_EQ(session.memory(0).high_water(), 2 * kilo);
}

TEST_P(OffloadSessionCase, WhatIsBroughtAheadTakesFreeRoomAndGivesItUp) {
  const hp::session_tensor x = filled("x", 1);
  EXPECT_FALSE(session.prefetch_ahead(x));  // resident
  session.store(x, 1);
  session.detach(x);
  session.wait(x);
  const hp::session_tensor a = filled("a", 2), b = filled("b", 3);
  EXPECT_FALSE(session.prefetch_ahead(x));  // no room
  session.remove(b);
  EXPECT_FALSE(session.prefetch_ahead(session.add("n", 8)));  // nowhere
  EXPECT_TRUE(session.prefetch_ahead(x));
  EXPECT_FALSE(session.prefetch_ahead(x));
  EXPECT_EQ(session.memory(0).bytes_used(), 2 * kilo);
  EXPECT_EQ(refusal([&] { session.use(x); }), "use of x (1024 bytes), tier 0 (hbm): the tensor is not resident");
  const hp::session_tensor c = filled("c", 4);  // needs the room
  session.remove(c);
  EXPECT_TRUE(session.prefetch_ahead(x));
  EXPECT_FALSE(session.prefetch(x));
  EXPECT_EQ(tested::error_of<hp::tier_error>([&] { filled("d", 5); }),
            "tier hbm, tensor d: the capacity is exceeded: 1024 bytes asked, 0 bytes free, 0 in one piece");
  EXPECT_EQ(first(x), 1);
  EXPECT_EQ(first(a), 2);
  EXPECT_EQ(session.copies_in(1).copies + session.copies_in(1).cancelled, 2);
}

/// A link that can be held up and broken.
struct bad_link {
  std::atomic<bool> held{false}, broken{false};

  hp::session_options options(hp::copy_driver driver) {
    hp::session_options o = driven_by(driver);
    o.engine.move = [this](std::byte* to, const std::byte* from, std::int64_t n) {
      while (held) std::this_thread::yield();
      if (broken) throw std::runtime_error("the link is down");
      std::memcpy(to, from, static_cast<std::size_t>(n));
    };
    return o;
  }
};

TEST_P(OffloadSessionCase, AFailedCopyIsNamedAndChangesNothing) {
  bad_link link;
  hp::offload_session s({{"hbm", kilo}, {"dram", kilo}}, link.options(GetParam()));
  const hp::session_tensor x = s.add("x", 64);
  s.use(x, tensor_access::overwrite).as<float>()[0] = 5;
  const std::string failure = "wait of x (64 bytes): a copy failed: copy of x (64 bytes): it failed: the link is down";
  link.broken = true;
  s.store(x, 1);
  EXPECT_EQ(refusal([&] { s.wait(x); }), failure);
  EXPECT_EQ(refusal([&] { s.wait(x); }), "no error");
  EXPECT_FALSE(s.has_valid_copy(x, 1));
  EXPECT_EQ(s.memory(1).bytes_used(), 0);

  link.broken = false;
  s.store(x, 1);
  s.detach(x);
  s.wait(x);
  link.broken = true;
  s.prefetch(x);
  EXPECT_EQ(refusal([&] { s.wait(x); }), failure);
  EXPECT_EQ(s.memory(0).bytes_used(), 0);
  link.broken = false;
  s.prefetch(x);
  EXPECT_EQ(s.use(x).as<const float>()[0], 5);
}

TEST_P(OffloadSessionCase, ATensorStaysWhereItsOnlyStoreFails) {
  bad_link link;
  hp::offload_session s({{"hbm", kilo}, {"dram", kilo, never, never}}, link.options(GetParam()));
  const hp::session_tensor x = s.add("x", kilo), y = s.add("y", kilo);
  s.use(x, tensor_access::overwrite).as<float>()[0] = 5;
  link.held = link.broken = true;
  s.store(x, 1);
  s.detach(x);
  link.held = false;
  EXPECT_EQ(tested::error_of<hp::tier_error>([&] { s.use(y, tensor_access::overwrite); }),
            "tier hbm, tensor y: the capacity is exceeded: 1024 bytes asked, 0 bytes free, 0 in one piece");
  EXPECT_EQ(refusal([&] { s.use(x); }),
            "use of x (1024 bytes): a copy failed: copy of x (1024 bytes): it failed: the link is down");
  EXPECT_EQ(s.use(x).as<const float>()[0], 5);
}

TEST_P(OffloadSessionCase, DestructionEndsCopiesUnderWay) {
  hp::offload_session s({{"hbm", kilo}, {"dram", kilo, never, never}}, driven_by(GetParam()));
  const hp::session_tensor x = s.add("x", kilo);
  s.use(x, tensor_access::overwrite);
  s.store(x, 1);
  s.detach(x);
}

/// Copies from dram to hbm move their bytes late, and the first block of each tier has two tenants in turn.
struct LateCopies : ::testing::Test {
  static constexpr std::int64_t kilo = 1024;
  std::atomic<const std::byte*> late{nullptr};
  std::optional<hp::offload_session> made;
  hp::session_tensor x;

  LateCopies() {
    hp::session_options o = driven_by(hp::copy_driver::thread);
    o.engine.move = [this](std::byte* to, const std::byte* from, std::int64_t n) {
      if (from == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::memcpy(to, from, static_cast<std::size_t>(n));
    };
    made.emplace(std::vector<hp::session_tier>{{"hbm", kilo}, {"dram", 2 * kilo}, {"pool", kilo}}, o);
    x = made->add("x", kilo);
    fill(x, 1);
    made->store(x, 1);
    made->detach(x);
    made->wait(x);
    late = made->memory(1).address("x");
  }
  hp::session_tensor other(float value) {
    const hp::session_tensor t = made->add("other", kilo);
    fill(t, value);
    return t;
  }
  void fill(hp::session_tensor t, float value) {
    const hp::use_guard u = made->use(t, tensor_access::overwrite);
    for (float& f : u.as<float>()) f = value;
  }
  float first(hp::session_tensor t) { return made->use(t).as<const float>()[0]; }
  static void pass_time() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
};

TEST_F(LateCopies, AUseWaitsForTheBytes) {
  made->remove(other(2));
  made->prefetch(x);
  EXPECT_EQ(first(x), 1);
}

TEST_F(LateCopies, AStoreWaitsForTheBytesThatItIsToStore) {
  made->remove(other(2));
  made->prefetch(x);
  made->store(x, 2);
  made->detach(x);
  made->wait(x);
  made->prefetch(x, 2);
  EXPECT_EQ(first(x), 1);
}

TEST_F(LateCopies, NothingArrivesInABlockThatWasGivenUp) {
  made->prefetch(x);
  made->detach(x);
  const hp::session_tensor t = other(2);
  pass_time();
  EXPECT_EQ(first(t), 2);
}

TEST_F(LateCopies, NothingArrivesAheadInABlockThatWasGivenUp) {
  made->prefetch_ahead(x);
  const hp::session_tensor t = other(2);
  pass_time();
  EXPECT_EQ(first(t), 2);
}

TEST_F(LateCopies, NothingArrivesOnTopOfANewValue) {
  made->prefetch(x);
  fill(x, 3);
  pass_time();
  EXPECT_EQ(first(x), 3);
}

TEST_F(LateCopies, ABlockStaysWhileACopyReadsIt) {
  made->prefetch(x);
  made->store(x, 2);
  made->detach(x);
  made->wait(x);
  made->prefetch(x, 1);
  made->detach(x, 1);
  const std::vector<std::byte> value(kilo);
  made->load(made->add("other", kilo), 1, value);
  EXPECT_EQ(first(x), 1);
}

TEST(OffloadSession, ATierThatIsNoneIsRefused) {
  const auto refusal = [](const std::vector<hp::session_tier>& tiers) {
    return tested::error_of([&] { hp::offload_session{tiers}; });
  };
  EXPECT_EQ(refusal({}), "session: there is no tier");
  EXPECT_EQ(refusal({{"hbm", 64}, {"nvme", 64, {0, 0}, {1, 0}}}),
            "session, tier 1 (nvme): the tier's bandwidth is not positive, or its latency is negative");
  EXPECT_EQ(refusal({{"hbm", 64}, {"nvme", 64, {1, 0}, {1, -1}}}),
            "session, tier 1 (nvme): the tier's bandwidth is not positive, or its latency is negative");
  EXPECT_EQ(refusal({{"hbm", -64}}),
            "tier hbm: the capacity is negative: -64 bytes asked, 0 bytes free, 0 in one piece");
}

}  // namespace
