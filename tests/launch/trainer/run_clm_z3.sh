# SPDX-License-Identifier: Apache-2.0
# The causal language model example of transformers under torchrun.
GPUS=8
ACC=8
torchrun --nproc_per_node $GPUS --nnodes 2 --node_rank $RANK --master_addr $HEAD run_clm.py \
    --model_name_or_path meta-llama/Llama-3.1-8B \
    --dataset_name wikitext --dataset_config_name wikitext-103-raw-v1 \
    --block_size 4096 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps $ACC \
    --gradient_checkpointing True \
    --bf16 True \
    --learning_rate 2e-5 --lr_scheduler_type cosine --num_train_epochs 1 \
    --use_liger_kernel True \
    --output_dir out --save_steps 500 --logging_steps 10 \
    --deepspeed ds_z3.json
