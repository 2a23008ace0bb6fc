#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Llama 3 8B in fp8 on one node: data parallelism alone, weights gathered in 8 bits, gradients added up in 16.
DTYPE=${DTYPE:-fp8}
TP=1
MODEL_ARGS=(
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
  --seq-length 8192 --rotary-base 500000 --swiglu --untie-embeddings-and-output-weights --disable-bias-linear
)
TRAINING_ARGS=(
  --micro-batch-size 1 --global-batch-size 128 --bf16 --grad-reduce-in-bf16
  --cross-entropy-loss-fusion
)
TRAINING_ARGS+=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
case $DTYPE in
  fp8)
    TRAINING_ARGS+=("--fp8-format hybrid" "--fp8-amax-history-len 1024" "--fp8-param-gather")
    ;;
  bf16) ;;
  *)
    echo "no such type: $DTYPE"
    exit 1
    ;;
esac
[ $TP -gt 1 ] && TRAINING_ARGS+=(--sequence-parallel)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${MODEL_ARGS[@]}" "${TRAINING_ARGS[@]}" \
  --tensor-model-parallel-size $TP --mock-data --vocab-size 128256 --log-interval 1
