// SPDX-License-Identifier: Apache-2.0
// A chain of matrix products trained by hand: its numbers do not depend on hooks, tiers or time; then the hooks alone.

#include <hyperparallel/tiers/saved_tensors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/blocked_product.hpp>

#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
using hp::tensor_access;

constexpr std::int64_t rows = 16, width = 24, bytes = rows * width * 4;  // a multiple of 64
constexpr int layers = 8;

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed) {
  std::vector<float> r(static_cast<std::size_t>(n));
  for (float& x : r) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-33F;
  }
  return r;
}

hp::session_options driven_by(hp::copy_driver driver) {
  hp::session_options o;
  o.engine.driver = driver;
  o.engine.spin = 5 * hp::microsecond;
  return o;
}

/// c = a · b, each with its steps from row to row and from column to column.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const hp::kernels::detail::even_matrix<const float>& a,
              const hp::kernels::detail::even_matrix<const float>& b, float* c) {
  hp::kernels::detail::blocked_product<float>(m, n, k, a, b, hp::kernels::detail::even_matrix<float>{c, {n}, {1}});
}

/// A few steps of gradient descent on ½|x·W₁·…·Wₙ - target|². Returns all gradients of the weights. Activations and
/// their gradients live in the session, everything else outside.
std::vector<float> train(hp::offload_session& session, const std::shared_ptr<hp::saved_tensor_hooks>& hooks) {
  std::vector<std::vector<float>> weight;
  for (int l = 0; l < layers; ++l) weight.push_back(random_floats(width * width, static_cast<std::uint32_t>(l)));
  const std::vector<float> input = random_floats(rows * width, 77), target = random_floats(rows * width, 78);
  std::vector<float> gradients;
  for (int step = 0; step < 3; ++step) {
    hp::session_tensor x = session.add("x0", bytes);
    std::copy(input.begin(), input.end(), session.use(x, tensor_access::overwrite).as<float>().begin());
    std::vector<hp::packed_tensor> saved;
    {
      const hp::saved_tensors_scope scope(hooks);
      for (int l = 0; l < layers; ++l) {
        const hp::session_tensor y = session.add("x" + std::to_string(l + 1), bytes);
        const float* const w = weight[static_cast<std::size_t>(l)].data();
        multiply(rows, width, width, {session.use(x).as<const float>().data(), {width}, {1}}, {w, {width}, {1}},
                 session.use(y, tensor_access::overwrite).as<float>().data());
        saved.push_back(hp::save_for_backward(session, x));
        x = y;
      }
    }
    hp::session_tensor d = x;  // the gradient takes the place of the result
    {
      const hp::use_guard g = session.use(d, tensor_access::update);
      for (std::size_t i = 0; i < target.size(); ++i) g.as<float>()[i] -= target[i];
    }
    for (int l = layers; l-- > 0;) {
      hp::packed_tensor kept = std::move(saved.back());
      saved.pop_back();
      float* const w = weight[static_cast<std::size_t>(l)].data();
      const hp::session_tensor next = session.add("d" + std::to_string(l), bytes);
      std::vector<float> dw(static_cast<std::size_t>(width * width));
      {
        const hp::use_guard in = kept.unpack(), dy = session.use(d);
        const float *const from = in.as<const float>().data(), *const to = dy.as<const float>().data();
        multiply(width, width, rows, {from, {1}, {width}}, {to, {width}, {1}}, dw.data());
        multiply(rows, width, width, {to, {width}, {1}}, {w, {1}, {width}},
                 session.use(next, tensor_access::overwrite).as<float>().data());
      }
      session.remove(kept.tensor());
      session.remove(std::exchange(d, next));
      for (std::size_t i = 0; i < dw.size(); ++i) w[i] -= 0.1F * dw[i];
      gradients.insert(gradients.end(), dw.begin(), dw.end());
    }
    session.remove(d);
  }
  return gradients;
}

TEST(SavedTensors, GradientsHaveTheSameBitsWithAndWithoutHooksInFarLessMemory) {
  hp::offload_session roomy({{"hbm", 100 * bytes}});
  const std::vector<float> plain = train(roomy, nullptr);
  const std::int64_t peak = roomy.memory(0).high_water();
  EXPECT_EQ(peak, (layers + 2) * bytes);
  EXPECT_TRUE(std::any_of(plain.begin(), plain.end(), [](float g) { return g != 0.0F; }));

  const hp::offload_link rates[] = {
      {}, {hp::gigabyte, 20 * hp::microsecond}, {hp::unlimited_bandwidth, hp::millisecond}};
  for (const hp::copy_driver driver : {hp::copy_driver::thread, hp::copy_driver::caller})
    for (const hp::offload_link& rate : rates)
      for (const int look_ahead : {0, 1, 3})
        for (const int room : {3, 4, 6}) {
          hp::offload_session tight({{"hbm", room * bytes}, {"dram", layers * bytes, rate, rate}}, driven_by(driver));
          hp::offload_hooks_options o;
          o.look_ahead = look_ahead;
          ASSERT_EQ(train(tight, std::make_shared<hp::offload_hooks>(o)), plain) << room << ' ' << look_ahead;
          EXPECT_LE(tight.memory(0).high_water(), room * bytes);
          EXPECT_LT(tight.memory(0).high_water(), peak);
          EXPECT_EQ(tight.memory(0).tensors() + tight.memory(1).tensors(), 0);
          EXPECT_EQ(tight.copies_out(1).failed + tight.copies_in(1).failed, 0);
          // At the turn to the backward pass as many tensors fit as there is room: they need not come back.
          EXPECT_GE(tight.copies_in(1).copies, 3 * (layers - room));
        }
}

TEST(SavedTensors, TooLittleRoomIsAnErrorThatNamesTheTensor) {
  hp::offload_session tight({{"hbm", 2 * bytes}, {"dram", layers * bytes}});
  EXPECT_EQ(tested::error_of<hp::tier_error>([&] { train(tight, std::make_shared<hp::offload_hooks>()); }),
            "tier hbm, tensor d7: the capacity is exceeded: 1536 bytes asked, 0 bytes free, 0 in one piece");
}

struct SavedTensorHooks : ::testing::Test {
  hp::offload_session session{{{"hbm", 1024}, {"dram", 1024}}, driven_by(hp::copy_driver::caller)};
  std::shared_ptr<hp::saved_tensor_hooks> hooks = std::make_shared<hp::offload_hooks>();

  hp::session_tensor filled(const std::string& name, float value) {
    const hp::session_tensor t = session.add(name, 256);
    const hp::use_guard u = session.use(t, tensor_access::overwrite);
    for (float& x : u.as<float>()) x = value;
    return t;
  }
  hp::packed_tensor packed(hp::session_tensor t) {
    const hp::saved_tensors_scope scope(hooks);
    return hp::save_for_backward(session, t);
  }
};

TEST_F(SavedTensorHooks, PackPutsAwayAndUnpackBringsBack) {
  const hp::session_tensor x = filled("x", 3);
  hp::packed_tensor kept = packed(x);
  EXPECT_FALSE(session.is_resident(x));
  EXPECT_EQ(kept.unpack().as<const float>()[63], 3);
  EXPECT_TRUE(session.is_resident(x));
}

TEST_F(SavedTensorHooks, UnpackTwiceIsNamedWithHooksAndWithout) {
  const hp::session_tensor x = filled("x", 3);
  hp::packed_tensor kept = packed(x), bare = hp::save_for_backward(session, x);
  const std::string refusal = "unpack of x (256 bytes): the saved tensor was unpacked before";
  kept.unpack();
  EXPECT_EQ(tested::error_of<hp::session_error>([&] { kept.unpack(); }), refusal);
  EXPECT_EQ(bare.unpack().as<const float>()[0], 3);
  EXPECT_EQ(tested::error_of<hp::session_error>([&] { bare.unpack(); }), refusal);
  session.remove(x);
  EXPECT_EQ(tested::error_of<hp::session_error>([&] { kept.unpack(); }), refusal);
}

TEST_F(SavedTensorHooks, WithoutHooksNothingMoves) {
  const hp::session_tensor x = filled("x", 3);
  hp::packed_tensor kept = hp::save_for_backward(session, x);
  EXPECT_TRUE(session.is_resident(x));
  EXPECT_EQ(kept.unpack().as<const float>()[0], 3);
  EXPECT_EQ(session.copies_out(1).copies, 0);
}

TEST_F(SavedTensorHooks, ATensorSavedTwiceIsPutAwayOnce) {
  const hp::session_tensor x = filled("x", 3);
  hp::packed_tensor first = packed(x), second = packed(x);
  session.wait(x);
  EXPECT_EQ(session.copies_out(1).copies, 1);
  const hp::use_guard a = first.unpack(), b = second.unpack();
  EXPECT_EQ(a.as<const float>().data(), b.as<const float>().data());
  EXPECT_EQ(session.copies_in(1).copies, 1);
}

TEST_F(SavedTensorHooks, UnpackBringsThosePackedBeforeAndNotTheForgotten) {
  const hp::session_tensor x[] = {filled("a", 0), filled("b", 1), filled("c", 2), filled("d", 3)};
  std::vector<hp::packed_tensor> kept;
  for (const hp::session_tensor& t : x) kept.push_back(packed(t));
  session.wait_all();
  EXPECT_EQ(session.memory(0).bytes_used(), 0);
  kept[2] = {};  // nobody will ask for c
  kept[3].unpack();
  EXPECT_TRUE(session.memory(0).holds("b"));
  EXPECT_FALSE(session.memory(0).holds("c") || session.memory(0).holds("a"));
  EXPECT_FALSE(session.is_resident(x[1]));
  session.remove(x[0]);  // packed, and gone
  EXPECT_EQ(kept[1].unpack().as<const float>()[0], 1);
  EXPECT_EQ(session.copies_in(1).copies, 2);
  EXPECT_EQ(tested::error_of<hp::session_error>([&] { kept[0].unpack(); }),
            "state of tensor " + std::to_string(x[0].number) + ": the session has no such tensor");
}

TEST_F(SavedTensorHooks, SmallTensorsStayWhereTheOptionsSaySo) {
  hp::offload_hooks_options o;
  o.least_bytes = 257;
  hooks = std::make_shared<hp::offload_hooks>(o);
  const hp::session_tensor x = filled("x", 3);
  hp::packed_tensor kept = packed(x);
  EXPECT_TRUE(session.is_resident(x));
  kept.unpack();
}

/// Counts, and moves nothing.
struct counting_hooks : hp::saved_tensor_hooks {
  int packs = 0, unpacks = 0, forgotten = 0;
  std::int64_t pack(hp::offload_session&, hp::session_tensor) override { return ++packs; }
  hp::use_guard unpack(hp::offload_session& s, hp::session_tensor t, std::int64_t packed) override {
    EXPECT_LE(packed, packs);
    ++unpacks;
    return s.use(t);
  }
  void forget(std::int64_t) noexcept override { ++forgotten; }
};

TEST_F(SavedTensorHooks, ScopesNestAndGiveTheFormerHooksBackAlsoWhenAnExceptionPasses) {
  const auto outer = std::make_shared<counting_hooks>(), inner = std::make_shared<counting_hooks>();
  const hp::session_tensor x = filled("x", 3);
  const auto save = [&] { return hp::save_for_backward(session, x); };
  {
    const hp::saved_tensors_scope a(outer);
    hp::packed_tensor kept = save();
    try {
      const hp::saved_tensors_scope b(inner);
      save().unpack();
      const hp::saved_tensors_scope none(nullptr);
      save();
      throw std::runtime_error("passes");
    } catch (const std::runtime_error&) {
    }
    save();
    std::thread([&] { EXPECT_NO_THROW(save()); }).join();  // another thread has no hooks
    kept.unpack();
  }
  save();
  EXPECT_EQ(outer->packs, 2);
  EXPECT_EQ(outer->unpacks, 1);
  EXPECT_EQ(outer->forgotten, 1);
  EXPECT_EQ(inner->packs, 1);
  EXPECT_EQ(inner->unpacks, 1);
  EXPECT_EQ(inner->forgotten, 0);
  EXPECT_EQ(outer.use_count(), 1);
}

}  // namespace
