// SPDX-License-Identifier: Apache-2.0
#pragma once
// Actions of a pipeline schedule: what one rank does with one stage and one micro-batch.
//
// Words are those of the field. F is the forward pass of a stage, I the gradient of its input, W the gradient of its
// weights, B both as one action that cannot be divided. The zero-bubble paper writes B for I.

namespace hyperparallel { inline namespace v0_2 {

enum class action_kind : unsigned char {
  forward,             ///< F
  input_gradient,      ///< I
  weight_gradient,     ///< W
  backward,            ///< B: I, then W; its outgoing gradient exists at its end
  overlapped_forward,  ///< F that runs together with the I or B behind it: one pair
  send_forward,        ///< SEND_F, named by the stage that sends
  receive_forward,     ///< RECV_F, named by the stage that receives
  send_backward,       ///< SEND_B
  receive_backward,    ///< RECV_B
  unshard,             ///< gathers the parameters of a fully sharded stage; has no micro-batch
  reshard,             ///< drops them again; has no micro-batch
  reduce_gradient,     ///< reduces the gradients of the stage's weights; has no micro-batch
  offload,             ///< the activation leaves the device
  reload,              ///< and comes back
  recompute,           ///< makes the activation again before its gradient
};
namespace detail {

inline constexpr int action_kinds = static_cast<int>(action_kind::recompute) + 1;

}  // namespace detail

constexpr bool is_compute(action_kind k) { return k <= action_kind::overlapped_forward; }
constexpr bool is_transfer(action_kind k) {
  return k >= action_kind::send_forward && k <= action_kind::receive_backward;
}
namespace detail {

constexpr bool has_micro_batch(action_kind k) { return k < action_kind::unshard || k > action_kind::reduce_gradient; }

}  // namespace detail

/// The kind as torch's tables spell it.
constexpr const char* action_letters(action_kind k) {
  switch (k) {
    case action_kind::forward:
    case action_kind::overlapped_forward:
      return "F";
    case action_kind::input_gradient:
      return "I";
    case action_kind::weight_gradient:
      return "W";
    case action_kind::backward:
      return "B";
    case action_kind::send_forward:
      return "SEND_F";
    case action_kind::receive_forward:
      return "RECV_F";
    case action_kind::send_backward:
      return "SEND_B";
    case action_kind::receive_backward:
      return "RECV_B";
    case action_kind::unshard:
      return "UNSHARD";
    case action_kind::reshard:
      return "RESHARD";
    case action_kind::reduce_gradient:
      return "REDUCE_GRAD";
    case action_kind::offload:
      return "OFFLOAD";
    case action_kind::reload:
      return "RELOAD";
    case action_kind::recompute:
      return "RECOMPUTE";
  }
  return "?";
}

/// One action. `micro_batch` is 0 where the kind has none.
struct pipeline_action {
  action_kind kind = action_kind::forward;
  int stage = 0, micro_batch = 0;
  friend constexpr bool operator==(const pipeline_action&, const pipeline_action&) = default;
};

/// "3F0", "12SEND_B7", "2UNSHARD": stage, kind and micro-batch as torch's tables spell them.
struct action_text {
  char text[36] = {};
  int length = 0;
};
constexpr action_text text_of(const pipeline_action& a) {
  action_text t;
  const auto number = [&](int n) {
    int power = 1;
    while (n / power >= 10) power *= 10;
    for (; power > 0; power /= 10) t.text[t.length++] = static_cast<char>('0' + n / power % 10);
  };
  number(a.stage);
  for (const char* at = action_letters(a.kind); *at != 0; ++at) t.text[t.length++] = *at;
  if (detail::has_micro_batch(a.kind)) number(a.micro_batch);
  return t;
}

/// Stages and micro-batches in one integer, by which schedules store actions: (kind · stages + stage) · micro_batches +
/// micro_batch. Neighbouring stages lie `micro_batches` apart, kinds `stages · micro_batches`.
struct action_coding {
  int stages = 0, micro_batches = 0;

  constexpr int per_kind() const { return stages * micro_batches; }
  constexpr int code(pipeline_action a) const {
    return (static_cast<int>(a.kind) * stages + a.stage) * micro_batches + a.micro_batch;
  }
  constexpr pipeline_action action(int code) const {
    const int row = code / micro_batches;
    return {static_cast<action_kind>(row / stages), row % stages, code % micro_batches};
  }
  friend constexpr bool operator==(const action_coding&, const action_coding&) = default;
};

namespace detail {

/// Stages times micro-batches up to which every code fits an int.
inline constexpr int most_stage_micro_batches = 0x7fffffff / action_kinds;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
