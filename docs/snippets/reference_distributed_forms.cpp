// SPDX-License-Identifier: Apache-2.0
// docs/reference/distributed-forms.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/forms/attention.hpp>
#include <hyperparallel/dtensor/forms/cross_entropy.hpp>
#include <hyperparallel/dtensor/forms/selection.hpp>

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

int main() {
  const hp::rank_group ranks(8);
  using logits = hp::dtensor<float, hp::extents<8, 64>, hp::layout<mesh, "dp", "tp">>;
  using labels = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, "dp">>;

  static_assert(!hp::applies<hp::operations::softmax{}, logits>);  // the rule wants whole rows
  const logits x = hp::arange<logits>(ranks);
  const auto p = hpd::softmax(x);  // rows stay where they are
  static_assert(std::is_same_v<decltype(p), const logits>);
  const auto loss = hpd::cross_entropy(x, hp::full<labels>(ranks, 63));
  static_assert(std::is_same_v<decltype(loss)::layout, hp::layout<mesh, "dp">>);
  const auto places = std::get<1>(hpd::topk<2>(x));
  assert(places.full_tensor()[0] == 63 && places.full_tensor()[1] == 62);

  // 4 rows a device over 4 devices: 6 maxima, 12 sums and logits of labels; the logits would be 192.
  static_assert(hpd::cross_entropy_price(logits::layout::value, hp::shape{8, 64}) == 18);

  using queries = hp::dtensor<float, hp::extents<2, 8, 16, 4>, hp::layout<mesh, "dp", hp::none, "tp", hp::none>>;
  using keys = hp::dtensor<float, hp::extents<2, 2, 16, 4>, hp::layout<mesh, "dp", hp::none, "tp", hp::none>>;
  const auto q = hp::randn<queries>(ranks, {.seed = 1});
  const auto k = hp::randn<keys>(ranks, {.seed = 2});
  const auto out = hpd::attention<true>(q, k, k);  // by ring, merge or all-to-all, whichever moves least
  static_assert(std::is_same_v<decltype(out), const queries>);
}
