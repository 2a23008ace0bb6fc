// SPDX-License-Identifier: Apache-2.0
#pragma once
// A MoE layer on a mesh of hardware as one type: layouts, moves, taskflow, proof and timeline are its constants.
//
//   using program = hp::moe_program<layer, mesh, hp::matrix384>;
//   static_assert(program::verified && program::certificate.ratio() <= 10100);
//
// The composition is of values: `make_moe_plan` joins the layer, the weight window (offload/) and the tile
// lowering (mpmd/); the type adds layouts and evaluates each stage once. The same values are planned at run time by
// `planned_flow`, for other sizes, windows or meshes.

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/hardware_refusal.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/offload/prefetch_window.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>
#include <hyperparallel/support/proof.hpp>
#include <hyperparallel/taskflow/taskflow_stages.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a user may choose about the plan; the defaults are for a 910C die at full size.
struct moe_options {
  moe_tiling tiling{};
  int matrix_queues = 24;
  int vector_queues = 24;  ///< of 48: half of the AIVs already saturate memory and fabric
  int element_bytes = 2;
  int rows_per_pair = 0;   ///< capacity of one (source, expert) pair; 0: the balanced count
  int weight_buffers = 0;  ///< buffers of each weight in fast memory; 0: all weights are resident
  bool cold = false;       ///< price grouped matmuls of the taskflow as if each were launched by itself
  rotation_kind rotation = rotation_kind::nearest_first;  ///< `choose_rotation` prices it on a topology
  moe_scope scope = moe_scope::layer;
  moe_pass pass = moe_pass::forward;
  weight_gradient_order weight_gradients = weight_gradient_order::last;
  bool even_exchange = false;                      ///< every block an equal share of the all-to-all, own rows too
  priority policy = priority::reference_order;     ///< the lowering's own order, or upward ranks
  std::int64_t synchronisation = 2 * microsecond;  ///< picoseconds from a signal to the wait that it releases
  friend constexpr bool operator==(const moe_options&, const moe_options&) = default;
};

/// `device` and `price` are not ok on hardware that cannot be, or with more queues than it has: no duration then means
/// anything. `window` is not ok when the window has fewer buffers than experts in use at once.
struct moe_plan_result {
  moe_status layer{};
  device_status device{};
  cost_code price = cost_code::ok;
  window_status window{};
  moe_plan plan{};
  constexpr bool ok() const {
    return layer.code == moe_code::ok && device.code == device_code::ok && price == cost_code::ok &&
           window.code == window_code::ok;
  }
};

/// Queues of one rank under `options`.
constexpr machine_shape moe_machine(const moe_options& options, int ranks) {
  machine_shape m;
  m.ranks = ranks;
  m.queues[static_cast<int>(resource::aic)] = options.matrix_queues;
  m.queues[static_cast<int>(resource::aiv)] = options.vector_queues;
  m.queues[static_cast<int>(resource::link)] = 1;
  m.queues[static_cast<int>(resource::copy_in)] = 1;
  return m;
}

/// Joins layer, window, tiles and prices. `ranks` is 1 (the plan of one device among equals) or `devices` (a run).
/// Fails where the layer does not divide, the device cannot be or cannot be priced, or the window is too small. O(local
/// experts · buffers).
constexpr moe_plan_result make_moe_plan(const moe_layer& layer, int devices, int ranks, const device_value& device,
                                        const expert_all_to_all_fit& fit, const moe_options& options,
                                        bool serialized = false) {
  moe_plan_result r;
  r.layer = check(layer, devices);
  r.device = check(device);
  if (r.layer.code != moe_code::ok || r.device.code != device_code::ok) return r;
  moe_plan& p = r.plan;
  p.layer = layer;
  p.tiling = options.tiling;
  p.devices = devices;
  p.ranks = ranks;
  p.element_bytes = options.element_bytes;
  p.serialized = serialized;
  p.rotation = options.rotation;
  p.scope = options.scope;
  p.pass = options.pass;
  p.weight_gradients = options.weight_gradients;
  p.even_exchange = options.even_exchange;
  p.rows_per_pair = options.rows_per_pair > 0
                        ? options.rows_per_pair
                        : static_cast<int>(ceil_divide(routed_rows(layer), extent_t{layer.experts} * devices));
  const int experts = local_experts(p), per_expert = blocks_per_expert(p);
  if (options.weight_buffers > 0 && !serialized) {
    p.weights.windowed = true;
    p.weights.buffers = options.weight_buffers;
    use_range uses[max_local_experts] = {};
    window_place places[max_local_experts] = {};
    for (int e = 0; e < experts; ++e) uses[e] = {e * per_expert, (e + 1) * per_expert - 1};
    r.window = plan_window(uses, experts, options.weight_buffers, places);
    for (int e = 0; e < experts; ++e) {
      p.weights.buffer[e] = places[e].buffer;
      p.weights.previous[e] = places[e].previous;
    }
  }
  const bool cold = serialized || options.cold;
  p.time = price_moe(p, device, options.vector_queues, cold ? device.gmm_cold : device.gmm_warm, fit);
  r.price = p.time.code;
  return r;
}

namespace detail {

template <class Plan>
struct moe_plan_builder {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    moe_builder{Plan::value}(f);
  }
};

}  // namespace detail

namespace diag {
template <moe_code, class Extent, class Devices>
struct moe_layer_does_not_fit_the_mesh;
}  // namespace diag

/// `Layer` with its tokens and experts spread over the axis `Axis` of `Mesh`, on `Hardware`.
template <moe_layer Layer, mesh_type Mesh, hardware_type Hardware, moe_options Options = moe_options{},
          map_entry Axis = "ep">
struct moe_program {
 private:
  static constexpr int axis = axis_index(Mesh::value, Axis.text);
  static_assert(axis >= 0, "the mesh has an axis for the experts");
  static constexpr moe_status fit = check(Layer, Mesh::value.shape.size[axis]);
  template <moe_code Code, class Unused = void>
  struct layer_verdict {
    using type = diag::moe_layer_does_not_fit_the_mesh<Code, extent<fit.extent>, shards<fit.devices>>;
  };
  template <class Unused>
  struct layer_verdict<moe_code::ok, Unused> {
    using type = accepted;
  };
  static_assert(insist<typename layer_verdict<fit.code>::type>::met);
  using carried = detail::hardware_verdict<Hardware, position_count(Mesh::value.shape)>;
  static_assert(insist<typename carried::type>::met);

  static constexpr moe_plan_result made =
      make_moe_plan(Layer, Mesh::value.shape.size[axis], 1, Hardware::device, Hardware::expert_all_to_all, Options);
  static_assert(insist<typename detail::price_verdict<made.price>::type>::met);
  struct plan_traits {
    static constexpr moe_plan value = made.plan;
  };

 public:
  using mesh = Mesh;
  using hardware = Hardware;
  static constexpr moe_layer layer = Layer;
  static constexpr moe_options options = Options;
  static constexpr int devices = Mesh::value.shape.size[axis];
  static constexpr moe_plan plan = plan_traits::value;

  // Tensors. The expert dim is two factors (local, device); `slots` are the rows of one expert.
  static constexpr extent_t slots = routed_rows(Layer) / Layer.experts;
  using tokens = tensor<bf16, Layer.tokens, Layer.hidden>;
  using routed = tensor<bf16, Layer.experts / devices, devices, slots, Layer.hidden>;
  using gate_up = tensor<bf16, Layer.experts / devices, devices, slots, 2 * extent_t{Layer.intermediate}>;
  using gate_up_weight = tensor<bf16, Layer.experts / devices, devices, Layer.hidden, 2 * extent_t{Layer.intermediate}>;
  using down_weight = tensor<bf16, Layer.experts / devices, devices, Layer.intermediate, Layer.hidden>;

  // Layouts: tokens by source device, expert tensors by owner.
  using by_token = layout<Mesh, Axis, none>;
  using by_source = layout<Mesh, none, none, Axis, none>;
  using by_expert = layout<Mesh, none, Axis, none, none>;

  // Moves between them, at full capacity.
  using dispatch = redistribution<by_source, by_expert, routed>;
  using combine = redistribution<by_expert, by_source, routed>;

  /// Addresses are held against the memory of the hardware.
  using stages = taskflow_stages<detail::moe_plan_builder<plan_traits>, moe_machine(Options, 1),
                                 schedule_options{Options.policy, Options.synchronisation}, memory_of<Hardware>>;
  /// Every interleaving of the taskflow is safe: always asked.
  static constexpr proof verified = proved_if(stages::safety.code == verify_code::ok);
  /// Picoseconds; with the scheduler's own synchronisation the simulated time is the scheduler's.
  static constexpr std::int64_t makespan = stages::schedule.makespan;
  static constexpr makespan_certificate certificate{makespan, stages::bound.value};
  static constexpr exposure communication = stages::timeline.communication;
  static constexpr int tasks = stages::size.tasks;
  static constexpr int events = stages::size.events;

  /// Share of the pool's time that is busy, in 1/10 000.
  static constexpr std::int64_t utilised(resource kind) {
    return utilisation(stages::timeline.result, stages::machine, kind);
  }
};

}}  // namespace hyperparallel::v0_2
