#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Llama 3 70B on 64 devices, as the public recipes for H100 have it: tensors within a node, a pipeline of two nodes.
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-8}
WORLD_SIZE=$((GPUS_PER_NODE * NUM_NODES))

MODEL_ARGS=(
  --num-layers 80
  --hidden-size 8192
  --ffn-hidden-size 28672
  --num-attention-heads 64
  --group-query-attention
  --num-query-groups 8
  --seq-length 8192
  --swiglu
  --untie-embeddings-and-output-weights
)
TRAINING_ARGS=(
  --micro-batch-size 1
  --global-batch-size $((WORLD_SIZE * 4))
  --lr 1.5e-4
  --bf16
  --use-distributed-optimizer
  --overlap-grad-reduce
)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
  "${MODEL_ARGS[@]}" "${TRAINING_ARGS[@]}" \
  --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel \
  --num-layers-per-virtual-pipeline-stage 5
