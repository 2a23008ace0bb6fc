// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of layers/: composable parts of models. A layer is an aggregate of its sizes whose call operator
// adds its operators to a graph under construction.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/layers/attention.hpp>
#include <hyperparallel/layers/bias.hpp>
#include <hyperparallel/layers/convolution.hpp>
#include <hyperparallel/layers/cross_attention.hpp>
#include <hyperparallel/layers/decoder.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/layers/diffusion_block.hpp>
#include <hyperparallel/layers/dropout.hpp>
#include <hyperparallel/layers/embedding.hpp>
#include <hyperparallel/layers/feed_forward.hpp>
#include <hyperparallel/layers/language_head.hpp>
#include <hyperparallel/layers/latent_attention.hpp>
#include <hyperparallel/layers/layer_input.hpp>
#include <hyperparallel/layers/layer_norm.hpp>
#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/layers/linear_attention.hpp>
#include <hyperparallel/layers/mixture_of_experts.hpp>
#include <hyperparallel/layers/norm.hpp>
#include <hyperparallel/layers/rms_norm.hpp>
#include <hyperparallel/layers/rope.hpp>
#include <hyperparallel/layers/transformer_block.hpp>
