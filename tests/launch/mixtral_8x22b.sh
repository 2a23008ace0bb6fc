#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mixtral 8x22B on eight nodes: an expert on each device of a node, all layers computed again.
MODEL_SIZE=8x22B
AC=full
NODES=8
BATCH_OF_NODE=32
case "$MODEL_SIZE" in
  8x7B | 8x7b) LAYERS=32; HIDDEN=4096; FFN=14336; HEADS=32 ;;
  8x22B | 8x22b) LAYERS=56; HIDDEN=6144; FFN=16384; HEADS=48 ;;
esac
if [[ $AC == full ]]; then
  RECOMPUTE=(--recompute-granularity full --recompute-method block --recompute-num-layers $LAYERS)
elif [[ $AC == sel ]]; then
  RECOMPUTE=(--recompute-granularity selective)
else
  RECOMPUTE=()
fi
MOE=(
  --num-experts 8
  --moe-router-topk 2
  --moe-grouped-gemm
  --moe-aux-loss-coeff 1e-2
  --expert-model-parallel-size 8
  --expert-tensor-parallel-size 1
)
torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py --num-layers $LAYERS --hidden-size $HIDDEN \
  --ffn-hidden-size $FFN --num-attention-heads $HEADS --group-query-attention --num-query-groups 8 --seq-length 8192 \
  --micro-batch-size 1 --global-batch-size $((NODES * BATCH_OF_NODE)) --bf16 --use-distributed-optimizer \
  "${MOE[@]}" "${RECOMPUTE[@]}"
