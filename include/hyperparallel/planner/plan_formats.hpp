// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number formats of a plan as one value: what products are taken in, and what parameters are stored in.
//
//   hp::decoder_plan p{.dp = 8, .zero = 1, .formats = hp::find_formats("fp8")->formats, .batch = 8};
//
// Activations are bf16, sums of micro-batches f32 or bf16, and moments of the optimizer f32, bf16 or 8 bits, whose scales of a block of 2048 are not
// counted. Parameters of 32 bits are gathered, and their gradients reduced, in 32 bits. Those of 16 bits are gathered and reduced in 16, but
// where micro-batches are added up before they are reduced, which is in the format of sums; the optimizer keeps a master of 32 bits of each, under AdamW 18 bytes
// a parameter with the sum of gradients. Narrow products are those of a layer with its weights and both of their gradients; attention's own,
// the router's, embedding and head stay in bf16. Activations are cast for each of them, weights with their update; what is kept for backward
// stays bf16. Weights of products in fp8 may be stored and gathered in 8 bits, their gradients in 16.
// Sources: Micikevicius et al., 1710.03740; Megatron-LM's mixed precision with a distributed optimizer; Transformer Engine's fp8 recipes; OCP
// Microscaling Formats 1.0, whose scales of 32 elements (mxfp8) cost no time here; NVFP4 (2509.25149); moments in bf16: DeepSeek-V3 (2412.19437),
// Megatron-LM's --use-precision-aware-optimizer; in 8 bits: Dettmers et al., 2110.02861; sums in bf16: its --grad-reduce-in-bf16, weights in 8 bits: --fp8-param-gather (core 0.12 to 0.17).
//
// Law: a format that a device states no rate for has no price on it.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_formats {
  number_format product = number_format::bfloat16;  ///< of layers, with their weights: bfloat16, float8 or float4
  data_type weight = data_type::f32;                ///< f32 or bf16
  data_type moment = data_type::f32;                ///< of the optimizer: f32, bf16 or i8
  data_type sum = data_type::f32;                   ///< of gradients of several micro-batches: f32 or bf16
  bool narrow_weights = false;                      ///< those of products in fp8 are stored in 8 bits
  friend constexpr bool operator==(const plan_formats&, const plan_formats&) = default;

  /// Bits of the floats that narrow products multiply; 0: as activations are stored.
  constexpr int product_bits() const {
    return product == number_format::float8 ? 8 : product == number_format::float4 ? 4 : 0;
  }
  constexpr bool stores_bytes() const { return narrow_weights && product == number_format::float8; }
  /// Bytes of a layer's weight, as it is stored and gathered: the least of any parameter.
  constexpr int weight_bytes() const { return stores_bytes() ? 1 : bytes_of(weight); }
  /// Bytes of a gradient of one micro-batch.
  constexpr int gradient_bytes() const { return bytes_of(weight); }
  /// Bytes of a parameter's master.
  constexpr int master_bytes() const { return weight == data_type::f32 ? 0 : 4; }
};

struct named_formats {
  const char* name;
  plan_formats formats;
};

/// The first is what tools take where none is named.
inline constexpr named_formats known_formats[] = {
    {"f32", {}},
    {"bf16", {.weight = data_type::bf16}},
    {"fp8", {.product = number_format::float8, .weight = data_type::bf16}},
    {"mxfp8", {.product = number_format::float8, .weight = data_type::bf16}},
    {"nvfp4", {.product = number_format::float4, .weight = data_type::bf16}},
    {"bf16_states16", {.weight = data_type::bf16, .moment = data_type::bf16}},
    {"bf16_states8", {.weight = data_type::bf16, .moment = data_type::i8}},
    {"fp8_states16", {.product = number_format::float8, .weight = data_type::bf16, .moment = data_type::bf16}},
    {"fp8_states8", {.product = number_format::float8, .weight = data_type::bf16, .moment = data_type::i8}},
    {"bf16_sums16", {.weight = data_type::bf16, .sum = data_type::bf16}},
    {"fp8_sums16", {.product = number_format::float8, .weight = data_type::bf16, .sum = data_type::bf16}},
    {"fp8_weights8", {.product = number_format::float8, .weight = data_type::bf16, .narrow_weights = true}}};

/// The formats of that name, or null.
constexpr const named_formats* find_formats(const char* name) {
  for (const named_formats& f : known_formats)
    if (detail::same_text(f.name, name)) return &f;
  return nullptr;
}

/// The first name of these formats.
constexpr const char* name_of(const plan_formats& formats) {
  for (const named_formats& f : known_formats)
    if (f.formats == formats) return f.name;
  return "mixed";
}

}}  // namespace hyperparallel::v0_2
