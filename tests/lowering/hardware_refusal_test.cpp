// SPDX-License-Identifier: Apache-2.0
// Each refusal of hardware has a line of its own, with the place and both numbers.

#include <hyperparallel/lowering/hardware_refusal.hpp>

#include <lowering/refused_hardware.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace hp = hyperparallel;

namespace {

template <class Hardware, int Devices = 8>
using verdict = typename hp::detail::hardware_verdict<Hardware, Devices>::type;

/// One number of the preset's device, set to another value.
constexpr hp::device_value with_value(auto member, auto value) {
  hp::device_value d = hp::matrix384::device;
  d.*member = value;
  return d;
}
template <auto Member, auto Value>
struct with : hp::matrix384 {
  static constexpr hp::device_value device = with_value(Member, Value);
};
template <int Inner, int Outer>
struct linked : hp::matrix384 {
  static constexpr hp::topology_value topology = refused::two_levels(Inner, Outer);
};
constexpr hp::device_value with_negative_format() {
  hp::device_value d = hp::matrix384::device;
  d.matrix_flops[3] = -5;
  return d;
}
struct negative_format : hp::matrix384 {
  static constexpr hp::device_value device = with_negative_format();
};
struct standing : hp::matrix384 {
  static constexpr hp::device_value device = hp::with_bandwidth(hp::matrix384::device, hp::dram, 0);
};
template <int X, int Y>
struct meshed : hp::matrix384 {
  static constexpr hp::full_mesh_value topology = refused::square(X, Y);
};
struct without_links : hp::matrix384 {
  static constexpr hp::topology_value topology{};
};
using code = hp::device_code;
template <std::int64_t N>
using number_given = hp::number_given<N>;
template <std::int64_t N>
using number_expected = hp::number_expected<N>;

template <code Code, class... What>
using device_line = hp::diag::device_cannot_be<Code, What...>;
template <hp::topology_code Code, class... What>
using link_line = hp::diag::topology_cannot_be<Code, What...>;

TEST(hardware_refusal, presets_are_accepted) {
  static_assert(std::is_same_v<verdict<hp::matrix384>, hp::accepted>);
  static_assert(std::is_same_v<verdict<hp::generic_host, 1 << 20>, hp::accepted>);
  static_assert(std::is_same_v<verdict<hp::ascend_910c_die, 2>, hp::accepted>);
  static_assert(std::is_same_v<hp::detail::price_verdict<hp::cost_code::ok>::type, hp::accepted>);
  SUCCEED();
}

TEST(hardware_refusal, a_step_without_a_price_names_format_and_hardware) {
  using hp::cost_code;
  constexpr hp::detail::unrated_work products{true, false, hp::number_format::float64};
  constexpr hp::detail::unrated_work vectors{true, true, hp::number_format::float64};
  constexpr cost_code none = cost_code::rate_is_not_positive;
  using host = hp::generic_host;
  static_assert(
      std::is_same_v<hp::detail::step_price_verdict<none, host, products>::type,
                     hp::diag::step_cannot_be_priced<none, host, hp::products_of<hp::number_format::float64>>>);
  static_assert(std::is_same_v<
                hp::detail::step_price_verdict<none, host, vectors>::type,
                hp::diag::step_cannot_be_priced<none, host, hp::detail::vector_work_in<hp::number_format::float64>>>);
  static_assert(std::is_same_v<hp::detail::step_price_verdict<cost_code::overflow, host, {}>::type,
                               hp::diag::step_cannot_be_priced<cost_code::overflow>>);
  static_assert(std::is_same_v<hp::detail::step_price_verdict<cost_code::ok, host, {}>::type, hp::accepted>);
  SUCCEED();
}

TEST(hardware_refusal, each_line_names_the_place_and_both_numbers) {
  static_assert(std::is_same_v<verdict<with<&hp::device_value::aic, -2>>,
                               device_line<code::has_no_matrix_core, number_given<-2>, number_expected<1>>>);
  static_assert(std::is_same_v<
                verdict<with<&hp::device_value::gmm_warm, hp::efficiency{1'000'001}>>,
                device_line<code::gmm_warm_is_not_in_0_to_1, number_given<1'000'001>, number_expected<1'000'000>>>);
  static_assert(std::is_same_v<verdict<negative_format>,
                               device_line<code::matrix_rate_is_negative, hp::products_of<hp::number_format::int8>,
                                           number_given<-5>, number_expected<0>>>);
  static_assert(std::is_same_v<verdict<standing>, device_line<code::tier_has_no_bandwidth, hp::memory_tier_number<1>,
                                                              number_given<0>, number_expected<1>>>);
  static_assert(
      std::is_same_v<verdict<without_links>,
                     link_line<hp::topology_code::level_count_is_out_of_range, number_given<0>, number_expected<1>>>);
  using far = hp::link_named<'f', 'a', 'r'>;
  static_assert(
      std::is_same_v<verdict<linked<8, 12>>,
                     link_line<hp::topology_code::group_does_not_nest, far, number_given<12>, number_expected<8>>>);
  static_assert(
      std::is_same_v<verdict<linked<2, 4>>,
                     hp::diag::topology_does_not_join_all_devices<hp::devices_to_join<8>, hp::devices_joined<4>, far>>);
  static_assert(std::is_same_v<verdict<linked<2, 4>, 4>, hp::accepted>);
  static_assert(std::is_same_v<verdict<meshed<2, 4>>, hp::accepted>);
  static_assert(
      std::is_same_v<verdict<meshed<2, 3>>,
                     hp::diag::topology_does_not_join_all_devices<hp::devices_to_join<8>, hp::devices_joined<6>,
                                                                  hp::link_named<'c', 'o', 'l', 'u', 'm', 'n'>>>);
  static_assert(std::is_same_v<verdict<meshed<2, 0>>,
                               link_line<hp::topology_code::axis_has_no_device, hp::link_named<'r', 'o', 'w'>,
                                         number_given<0>, number_expected<1>>>);
  SUCCEED();
}

}  // namespace
