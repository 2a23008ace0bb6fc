// SPDX-License-Identifier: Apache-2.0
// docs/how-to/add-an-operator.md
#include <algorithm>
#include <cassert>
#include <cmath>
#include <type_traits>

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

/// Over the last dim: every device needs whole rows.
struct hard_softmax {
  static constexpr const char *name = "hard_softmax", *text = "*E->*E";
  static constexpr int flops_per_point = 4;
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    const hp::extent_t width = x.extents.extent[x.extents.rank - 1];
    for (hp::extent_t row = 0; row < hp::volume(x); row += width) {
      const T most = *std::max_element(x.data + row, x.data + row + width);
      T sum = 0;
      for (hp::extent_t i = row; i < row + width; ++i) sum += y.data[i] = std::exp2(x.data[i] - most);
      for (hp::extent_t i = row; i < row + width; ++i) y.data[i] /= sum;
    }
  }
};

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"ep", 4}> {};
using by_token = hp::layout<mesh, "dp", hp::none>;

struct softmax {  // over the last dim: every device needs whole rows
  static constexpr const char *name = "softmax", *text = "*E->*E";
  static constexpr int flops_per_point = 5;
};
static_assert(hp::check_rule(hp::rule_of<softmax, 2>).code == hp::rule_code::ok);

static_assert(std::is_same_v<hp::result_layout<softmax, by_token>, by_token>);
static_assert(!hp::accepts<softmax, hp::layout<mesh, "dp", "ep">>);                         // E must be whole
static_assert(!hp::accepts<softmax, hp::layout<mesh, "dp", hp::none, hp::partial("ep")>>);  // and not a partial sum
static_assert(hp::flops<softmax>(hp::shape{4096, 64}).flops == 5 * 4096 * 64);

int main() {
  const hp::rank_group group(8);
  const auto x = hp::full<hp::dtensor<float, hp::extents<4, 8>, by_token>>(group, 3.0F);
  const auto y = hp::apply<hard_softmax>(x);  // its layout is in its type: rows over dp
  static_assert(std::is_same_v<decltype(y), decltype(x)>);
  assert(y.full_tensor()[5] == 0.125F);
}
