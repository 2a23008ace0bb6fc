// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of model/layers/: composable parts of models. A layer is an aggregate of its sizes whose call operator
// adds its operators to a graph under construction.

#include <hyperparallel/model/layers/attention.hpp>
#include <hyperparallel/model/layers/convolution.hpp>
#include <hyperparallel/model/layers/cross_attention.hpp>
#include <hyperparallel/model/layers/diffusion_block.hpp>
#include <hyperparallel/model/layers/dropout.hpp>
#include <hyperparallel/model/layers/embedding.hpp>
#include <hyperparallel/model/layers/feed_forward.hpp>
#include <hyperparallel/model/layers/language_head.hpp>
#include <hyperparallel/model/layers/latent_attention.hpp>
#include <hyperparallel/model/layers/layer_input.hpp>
#include <hyperparallel/model/layers/layer_norm.hpp>
#include <hyperparallel/model/layers/linear.hpp>
#include <hyperparallel/model/layers/mixture_of_experts.hpp>
#include <hyperparallel/model/layers/rms_norm.hpp>
#include <hyperparallel/model/layers/rope.hpp>
#include <hyperparallel/model/layers/transformer_block.hpp>
