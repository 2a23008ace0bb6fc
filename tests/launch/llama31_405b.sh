#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Llama 3.1 405B on 1024 H100, by the degrees of its public recipe: 126 layers, embedding and loss are 128 in 64 chunks.
[ -z "$NNODES" ] && NNODES=128
[ -z "$GPUS" ] && GPUS=8
export VP=8 CP=2
PARALLEL="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8 --context-parallel-size $CP \
  --num-virtual-stages-per-pipeline-rank $VP --sequence-parallel \
  --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
torchrun --nproc-per-node $GPUS --nnodes $NNODES pretrain_gpt.py \
  --num-layers 126 --hidden-size 16384 --ffn-hidden-size 53248 --num-attention-heads 128 --num-query-groups 8 \
  --seq-length 8192 --micro-batch-size 1 --global-batch-size 1536 --bf16 --grad-reduce-in-bf16 \
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap $PARALLEL
