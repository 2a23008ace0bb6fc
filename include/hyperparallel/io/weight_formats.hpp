// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a checkpoint stores the weights of a decoder, as `quantization_config` of its config.json says. Header-only, it needs
// nlohmann-json on the include path; no front header includes this one.
//
//   method                    elements            beside them                                    leaves out
//   fp8                       8 bits              f32 of weight_block_size, or of a map          modules_to_not_convert, ignored_layers
//   fbgemm_fp8                8 bits              f32 of an output                               modules_to_not_convert
//   mxfp4                     4 bits, of experts  8 bits of 32 inputs                            the rest
//   gptq, awq                 bits                16 bits and a zero of group_size inputs        modules_to_not_convert, dynamic: unknown
//   bitsandbytes              8 or 4 bits         f32 of an output, or of 64 inputs              llm_int8_skip_modules
//   compressed-tensors        num_bits            scale (and zero) by strategy                   ignore
//   modelopt                  by quant_algo       NVFP4: 8 bits of 16 inputs, FP8: of a map      exclude_modules, ignore
//
// A head is converted by compressed-tensors and modelopt alone, unless it is listed; a head that is tied is not. Routed experts
// of a layer are alike: expert 0 stands for all. Laws: what is not known is `unknown` in words, and no weight is converted then;
// every error is one line. Source: huggingface/transformers, quantizers; vllm-project/vllm, quantization; compressed-tensors.

#include <string>

#include <hyperparallel/layers/decoder.hpp>
#include <hyperparallel/planner/weight_storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stored_weights {
  weight_storage storage{};  ///< empty: not converted, or not known
  std::string method{};      ///< empty: there is no such field
  std::string unknown{};     ///< why it is not read
  int cache_bits = 0;        ///< that the file has the cache in; 0: it does not say
};

namespace detail {

class config_fields;

/// Of the fields of a file whose decoder is read. O(layers · patterns).
stored_weights read_stored_weights(config_fields& f, const decoder& d);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/weight_formats.ipp>
#endif
