// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a hardware type cannot carry a program, as one error line: what of the device or of its links cannot be, the
// number that is given and the one that is expected, how many devices the links leave apart, or the number format that the
// device states no rate for.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/fixed_string.hpp>

#include <type_traits>

namespace hyperparallel { inline namespace v0_2 {

template <std::int64_t>
struct number_given {};
template <std::int64_t>
struct number_expected {};
template <int>
struct memory_tier_number {};
template <number_format>
struct products_of {};
namespace detail {

template <number_format>
struct vector_work_in {};

}  // namespace detail
template <char...>
struct link_named {};
template <std::int64_t>
struct devices_to_join {};
template <std::int64_t>
struct devices_joined {};

namespace diag {
template <device_code, class... What>
struct device_cannot_be;
template <topology_code, class... What>
struct topology_cannot_be;
template <class Devices, class Joined, class Link>
struct topology_does_not_join_all_devices;
template <cost_code, class... What>
struct step_cannot_be_priced;
}  // namespace diag

namespace detail {

/// Of the codes of a device that speak of one memory tier.
constexpr bool is_of_a_tier(device_code c) {
  return c >= device_code::tier_has_no_capacity && c <= device_code::tier_is_faster_than_the_one_before;
}

template <device_code Code, bool OfATier, device_status Why>
struct refused_device {
  using type = diag::device_cannot_be<Code, number_given<Why.given>, number_expected<Why.expected>>;
};
template <device_code Code, device_status Why>
struct refused_device<Code, true, Why> {
  using type =
      diag::device_cannot_be<Code, memory_tier_number<Why.at>, number_given<Why.given>, number_expected<Why.expected>>;
};
template <device_status Why>
struct refused_device<device_code::matrix_rate_is_negative, false, Why> {
  using type = diag::device_cannot_be<Why.code, products_of<static_cast<number_format>(Why.at)>,
                                      number_given<Why.given>, number_expected<Why.expected>>;
};

template <class Hardware, topology_status Why>
struct refused_link {
  static constexpr const auto& text = Hardware::topology.level[Why.level].name.text;
  static constexpr int length = text_length(text);
};
template <class Hardware, topology_code Code, topology_status Why>
struct refused_topology {
  using type = diag::topology_cannot_be<Code, spelled<link_named, refused_link<Hardware, Why>>, number_given<Why.given>,
                                        number_expected<Why.expected>>;
};
template <class Hardware, topology_status Why>
struct refused_topology<Hardware, topology_code::level_count_is_out_of_range, Why> {
  using type = diag::topology_cannot_be<Why.code, number_given<Why.given>, number_expected<Why.expected>>;
};
template <class Hardware, topology_status Why>
struct refused_topology<Hardware, topology_code::ranks_are_not_joined, Why> {
  using type = diag::topology_does_not_join_all_devices<devices_to_join<Why.given>, devices_joined<Why.expected>,
                                                        spelled<link_named, refused_link<Hardware, Why>>>;
};
template <class Hardware, topology_status Why>
struct refused_topology<Hardware, topology_code::ok, Why> {
  using type = accepted;
};

template <class Hardware, device_code Code, hardware_status Why>
struct refused_hardware : refused_device<Code, is_of_a_tier(Code), Why.device> {};
template <class Hardware, hardware_status Why>
struct refused_hardware<Hardware, device_code::ok, Why> : refused_topology<Hardware, Why.topology.code, Why.topology> {
};

/// `type` is `accepted` for hardware that carries a program on `Devices` devices.
template <class Hardware, int Devices>
struct hardware_verdict {
  static constexpr hardware_status status = check_hardware(Hardware::device, Hardware::topology, Devices);
  using type = typename refused_hardware<Hardware, status.device.code, status>::type;
};

template <cost_code Code>
struct price_verdict {
  using type = diag::step_cannot_be_priced<Code>;
};
template <>
struct price_verdict<cost_code::ok> {
  using type = accepted;
};

/// The same of a step on `Hardware`, some of whose work may have no rate.
template <cost_code Code, class Hardware, unrated_work Work>
struct step_price_verdict : price_verdict<Code> {};
template <class Hardware, unrated_work Work>
  requires(Work.exists)
struct step_price_verdict<cost_code::rate_is_not_positive, Hardware, Work> {
  using format = std::conditional_t<Work.on_vector_cores, vector_work_in<Work.format>, products_of<Work.format>>;
  using type = diag::step_cannot_be_priced<cost_code::rate_is_not_positive, Hardware, format>;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
